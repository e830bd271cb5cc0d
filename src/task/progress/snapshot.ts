import { relative, resolve, sep } from 'node:path';
import { type Committed, type GitLimits, type GitState, gitState } from '../git/git-state.ts';
import { compareMarks, type FolderLimits, type Marks, markFolder } from './marks.ts';

/** The form of a stored snapshot. */
const SNAPSHOT_VERSION = 1;

/** How a project stands at one moment, as far as durable progress goes. JSON keeps it whole. */
export interface Snapshot {
  readonly version: typeof SNAPSHOT_VERSION;
  /** Relative to the project, '' is the project itself. Every path here is relative to the project. */
  readonly taskDir: string;
  readonly task: Marks;
  readonly git: GitState | null;
  /** Why there is no answer of git's; null where there is one. */
  readonly gitLimit: string | null;
}

export interface SnapshotOptions {
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The snapshot that this one will be compared with: then the files of commits in between are known as well. */
  readonly since?: Snapshot | null;
  readonly folderLimits?: FolderLimits;
  readonly gitLimits?: GitLimits;
}

export interface Comparison {
  readonly progress: 'yes' | 'no' | 'unknown';
  /** Relative to the project, in order, 200 at most. */
  readonly changedFiles: readonly string[];
  /** Names of the bounds that cut either snapshot, in order; empty where everything was seen. */
  readonly bounded: readonly string[];
}

const MAX_CHANGED = 200;

/**
 * Looks at the files of the task folder and asks git about the project, both within bounds: what cannot be seen is
 * unknown, not unchanged. `taskDir` is absolute or relative to the project. Changes nothing, takes no lock of git's and
 * starts no program but git. Rejects only with the abort's reason.
 */
export async function snapshot(projectDir: string, taskDir: string, options: SnapshotOptions = {}): Promise<Snapshot> {
  const { signal = new AbortController().signal, env = process.env, since } = options;
  const root = resolve(projectDir);
  const inside = relative(root, resolve(root, taskDir)).split(sep).join('/');
  const asked = gitState(root, inside, since?.git?.head ?? null, { env, signal }, options.gitLimits);
  const task = markFolder(root, inside, options.folderLimits);
  const git = await asked;
  const known = git.kind === 'state';
  return {
    version: SNAPSHOT_VERSION,
    taskDir: inside,
    task,
    git: known ? git.state : null,
    gitLimit: known ? null : git.limit,
  };
}

/**
 * What changed durably between two snapshots: `yes` where something is seen to differ, `no` where everything was seen
 * and is the same, otherwise `unknown`, which is neither progress nor its lack.
 */
export function compare(before: Snapshot, after: Snapshot): Comparison {
  const same = before.taskDir === after.taskDir;
  const task = same ? compareMarks(before.task, after.task) : { changed: [], known: false };
  const git = compareGit(before.git, after.git);
  const changed = [...new Set([...task.changed, ...git.changed])].toSorted();
  const moved = changed.length > 0 || git.moved;
  return {
    progress: moved ? 'yes' : task.known && git.known ? 'no' : 'unknown',
    changedFiles: changed.slice(0, MAX_CHANGED),
    bounded: limitsOf([before, after], changed.length > MAX_CHANGED),
  };
}

interface GitComparison {
  /** HEAD is another commit, one that counts. */
  readonly moved: boolean;
  readonly changed: readonly string[];
  readonly known: boolean;
}

function compareGit(before: GitState | null, after: GitState | null): GitComparison {
  if (before === null || after === null) return { moved: false, changed: [], known: false };
  const tree = compareMarks(before.tree, after.tree);
  const paths = new Set([...Object.keys(before.index), ...Object.keys(after.index)]);
  const staged = [...paths].filter((path) => entryOf(before.index, path) !== entryOf(after.index, path));
  const committed = after.committed?.since === before.head ? after.committed : null;
  return {
    moved: before.head !== after.head && committed?.onlyLeftOut !== true,
    changed: [...tree.changed, ...staged, ...filesOf(committed)],
    known: tree.known,
  };
}

function entryOf(index: GitState['index'], path: string): string | undefined {
  return Object.hasOwn(index, path) ? index[path] : undefined;
}

function filesOf(committed: Committed | null): readonly string[] {
  return committed?.files ?? [];
}

function limitsOf(snapshots: readonly Snapshot[], cut: boolean): string[] {
  const limits = snapshots.flatMap(({ task, git, gitLimit }) => [
    ...task.limits,
    ...(git?.tree.limits ?? []),
    ...(gitLimit === null ? [] : [gitLimit]),
  ]);
  return [...new Set(cut ? [...limits, 'changed-files'] : limits)].toSorted();
}
