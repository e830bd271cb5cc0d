import { relative, resolve, sep } from 'node:path';
import type { GitState, Snapshot } from '../../engine/schema/records.ts';
import { askWithoutFilters, type GitAnswer, type GitOptions, partsOf, runGit, type Settings } from '../git/run-git.ts';
import { isLeftOut, MADE_BY_TOOLS } from '../left-out.ts';
import { prefixInRepository } from '../project-file.ts';
import { compareMarks, type FolderLimits, markFolder, markPaths, monotonicMs, type PathLimits } from './marks.ts';

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

/** Takes a snapshot; unseen parts are unknown, not unchanged. Starts only git. Rejects only with the abort reason. */
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

/** Compares two snapshots: `no` if both are complete and equal, `yes` if they differ, otherwise `unknown`. */
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

interface GitLimits extends PathLimits {
  readonly timeMs: number;
}

export const GIT_LIMITS: GitLimits = { files: 5_000, read: 1_000, bytes: 16 * 1024 * 1024, timeMs: 3_000 };

const MAX_COMMITTED = 200;

type GitLook =
  | { readonly kind: 'state'; readonly state: GitState }
  | { readonly kind: 'unknown'; readonly limit: string };

interface Look {
  readonly projectDir: string;
  readonly taskDir: string;
  /** Folder of the project in the repository, with a final slash; '' for its root. */
  readonly prefix: string;
  readonly limits: GitLimits;
  readonly deadline: number;
  readonly ask: (words: readonly string[], settings?: Settings) => Promise<GitAnswer>;
}

/** Reads the state without ignored files. `since`: the HEAD to compare with. Rejects only with the abort reason. */
async function gitState(
  projectDir: string,
  taskDir: string,
  since: string | null,
  options: GitOptions,
  limits: GitLimits = GIT_LIMITS,
): Promise<GitLook> {
  const prefix = prefixInRepository(projectDir);
  if (prefix === null) return unknown('repository');
  const deadline = monotonicMs() + limits.timeMs;
  const ask: Look['ask'] = (words, settings) =>
    runGit(projectDir, words, { ...options, timeMs: Math.max(1, Math.round(deadline - monotonicMs())) }, settings);
  const look: Look = { projectDir, taskDir, prefix, limits, deadline, ask };

  const [status, others, ignored] = await Promise.all([
    // No pathspec at the root: git would compare each path with it.
    askWithoutFilters(ask, prefix === '' ? STATUS : [...STATUS, '--', '.']),
    // Compares no contents and runs no filter, so it can start at once.
    ask(OTHERS),
    prefix === '' ? null : ask(['check-ignore', '--quiet', '.']),
  ]);
  if (status.kind !== 'answer') return unknown(status.kind);
  if (others.kind !== 'answer') return unknown(others.kind);
  // An outer repository that ignores the project does not see its changes.
  if (ignored?.kind === 'answer') return unknown('repository');
  const said = parseStatus(status.text);
  if (said === null) return unknown('failed');
  const { head } = said;
  const committed = since === null || since === head ? null : await committedSince(look, since, head);
  return { kind: 'state', state: { head, ...changesOf(look, said, others.text), committed } };
}

function unknown(limit: string): GitLook {
  return { kind: 'unknown', limit: `git-${limit}` };
}

/** Two parallel queries take the time of one; a single status would search for untracked files last. */
export const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--branch', '--no-ahead-behind', '--no-renames', '--untracked-files=no'],
  // Without `dirty`, git starts another git in each submodule, with the submodule's configuration.
  '--ignore-submodules=dirty',
];
/** Lists untracked files, except those made by tools. */
export const OTHERS = [
  ...['ls-files', '-z', '--others', '--exclude-standard'],
  ...[...MADE_BY_TOOLS, '.ralph-runner*'].flatMap((name) => ['--exclude', `${name}/`]),
];

function changesOf(look: Look, { index, dirty }: GitStatus, untracked: string): Pick<GitState, 'index' | 'tree'> {
  const counts = (path: string): boolean => !isLeftOut(path, look.taskDir);
  const inside = (path: string): string => path.slice(look.prefix.length);
  const paths = [...dirty.map(inside), ...partsOf(untracked)].filter(counts);
  const entries = Object.entries(index).map(([path, entry]) => [inside(path), entry] as const);
  const tree = markPaths(look.projectDir, paths, look.limits, look.deadline);
  return { index: Object.fromEntries(entries.filter(([path]) => counts(path))), tree };
}

async function committedSince({ ask, taskDir }: Look, since: string, head: string): Promise<GitState['committed']> {
  // The id comes from a file, and git would take a leading hyphen for an option.
  if (![since, head].every((commit) => /^[0-9a-f]{40,64}$/.test(commit))) return null;
  const diff = await ask(['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--relative', since, head]);
  if (diff.kind !== 'answer') return null;
  const all = partsOf(diff.text);
  const files = all.filter((path) => !isLeftOut(path, taskDir));
  return { since, files: files.slice(0, MAX_COMMITTED), onlyLeftOut: all.length > 0 && files.length === 0 };
}

/** Parsed output of `git status --porcelain=v2 --branch -z`. Paths are relative to the root of the work tree. */
interface GitStatus {
  readonly head: string;
  /** Mode and object name of staged files, by path. */
  readonly index: Readonly<Record<string, string>>;
  readonly dirty: readonly string[];
}

/** Pattern for `1 XY sub mH mI mW hH hI path` and `u XY sub m1 m2 m3 mW h1 h2 h3 path`. */
const CHANGED = /^1 (.)(.) \S+ \d+ (\d+) \d+ \S+ (\S+) (.+)$/s;
const UNMERGED = /^u (\S+) \S+ (\d+ \d+ \d+ \d+ \S+ \S+ \S+) (.+)$/s;

/** Parses the output of `git status --no-renames`; null if it is invalid. */
export function parseStatus(text: string): GitStatus | null {
  let head: string | null = null;
  const index: Record<string, string> = Object.create(null);
  const dirty: string[] = [];
  for (const line of text.split('\0')) {
    if (line.startsWith('# branch.oid ')) head = line.slice('# branch.oid '.length);
    if (line === '' || line.startsWith('#')) continue;
    const [, staged, changed, mode, object, path] = CHANGED.exec(line) ?? [];
    const [, , stages, unmerged] = UNMERGED.exec(line) ?? [];
    if (path !== undefined) {
      if (staged !== '.') index[path] = `${staged} ${mode} ${object}`;
      if (changed !== '.') dirty.push(path);
    } else if (unmerged !== undefined) {
      index[unmerged] = `u ${stages}`;
      dirty.push(unmerged);
    } else return null;
  }
  return head === null ? null : { head, index: { ...index }, dirty };
}
