import { relative, resolve, sep } from 'node:path';
import type { GitState, Snapshot } from '../../engine/schema/stored-views.ts';
import { type GitLimits, gitState } from './git-state.ts';
import { compareMarks, type FolderLimits, markFolder } from './marks.ts';

export interface SnapshotOptions {
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Snapshot to compare with: files committed since then are listed. */
  readonly since?: Snapshot | null;
  readonly folderLimits?: FolderLimits;
  readonly gitLimits?: GitLimits;
}

export interface Comparison {
  readonly progress: 'yes' | 'no' | 'unknown';
  readonly changedFiles: readonly string[];
  /** Limits that cut either snapshot; empty if both are complete. */
  readonly bounded: readonly string[];
}

const MAX_CHANGED = 200;

/** Takes a snapshot; unseen parts are unknown, not unchanged. Starts only git. Rejects only with the abort's reason. */
export async function snapshot(projectDir: string, taskDir: string, options: SnapshotOptions = {}): Promise<Snapshot> {
  const { signal = new AbortController().signal, env = process.env, since } = options;
  const root = resolve(projectDir);
  const inside = relative(root, resolve(root, taskDir)).split(sep).join('/');
  const asked = gitState(root, inside, since?.git?.head ?? null, { env, signal }, options.gitLimits);
  const task = markFolder(root, inside, options.folderLimits);
  const git = await asked;
  const answer = git.kind === 'state' ? { git: git.state, gitLimit: null } : { git: null, gitLimit: git.limit };
  return { version: 1, taskDir: inside, task, ...answer };
}

/** Compares two snapshots: `no` if both are complete and equal, `yes` if they differ; otherwise `unknown`. */
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

function compareGit(before: GitState | null, after: GitState | null) {
  if (before === null || after === null) return { moved: false, changed: [], known: false };
  const tree = compareMarks(before.tree, after.tree);
  const paths = new Set([...Object.keys(before.index), ...Object.keys(after.index)]);
  const staged = [...paths].filter((path) => entryOf(before.index, path) !== entryOf(after.index, path));
  const committed = after.committed?.since === before.head ? after.committed : null;
  return {
    moved: before.head !== after.head && committed?.onlyLeftOut !== true,
    changed: [...tree.changed, ...staged, ...(committed?.files ?? [])],
    known: tree.known,
  };
}

function entryOf(index: GitState['index'], path: string): string | undefined {
  return Object.hasOwn(index, path) ? index[path] : undefined;
}

function limitsOf(snapshots: readonly Snapshot[], cut: boolean): string[] {
  const limits = snapshots.flatMap(({ task, git, gitLimit }) => [
    ...task.limits,
    ...(git?.tree.limits ?? []),
    ...(gitLimit === null ? [] : [gitLimit]),
  ]);
  return [...new Set(cut ? [...limits, 'changed-files'] : limits)].toSorted();
}
