import { join } from 'node:path';
import type { GitState, Marks } from '../../engine/schema/stored-views.ts';
import { askWithoutFilters, type GitAnswer, type GitOptions, partsOf, runGit, type Settings } from '../git/run-git.ts';
import { isLeftOut, MADE_BY_TOOLS } from '../left-out.ts';
import { prefixInRepository } from '../project-file.ts';
import { markFile, marksBuilder, monotonicMs, type ReadBudget } from './marks.ts';

export interface GitLimits {
  readonly files: number;
  readonly read: number;
  readonly bytes: number;
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

/** Reads the state without ignored files. `since` is the HEAD to compare with. Rejects only with the abort's reason. */
export async function gitState(
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
    // No pathspec at the root, because git would compare each path with it.
    askWithoutFilters(ask, prefix === '' ? STATUS : [...STATUS, '--', '.']),
    // Compares no contents and runs no filter, so it need not wait.
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

/** Two parallel queries take the time of one; a single status would look for untracked files last. */
export const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--branch', '--no-ahead-behind', '--no-renames', '--untracked-files=no'],
  // Without `dirty`, git starts another git in each submodule, under the submodule's configuration.
  '--ignore-submodules=dirty',
];
/** Lists untracked files that no tool has made. */
export const OTHERS = [
  ...['ls-files', '-z', '--others', '--exclude-standard'],
  ...[...MADE_BY_TOOLS, '.ralph-runner*'].flatMap((name) => ['--exclude', `${name}/`]),
];

function changesOf(look: Look, { index, dirty }: GitStatus, untracked: string): Pick<GitState, 'index' | 'tree'> {
  const counts = (path: string): boolean => !isLeftOut(path, look.taskDir);
  const inside = (path: string): string => path.slice(look.prefix.length);
  const paths = [...dirty.map(inside), ...partsOf(untracked)].filter(counts);
  const entries = Object.entries(index).map(([path, entry]) => [inside(path), entry] as const);
  return { index: Object.fromEntries(entries.filter(([path]) => counts(path))), tree: markPaths(look, paths) };
}

function markPaths({ projectDir, limits, deadline }: Look, paths: readonly string[]): Marks {
  const found = marksBuilder('git');
  const budget: ReadBudget = { files: limits.read, bytes: limits.bytes };
  for (const path of paths.toSorted()) {
    if (found.count() >= limits.files || monotonicMs() > deadline) {
      found.miss(found.count() >= limits.files ? 'files' : 'time');
      break;
    }
    // A name that is not UTF-8 cannot be looked up.
    found.add(path, path.includes('\uFFFD') ? { kind: 'unreadable' } : markFile(join(projectDir, path), budget));
  }
  return found.build();
}

async function committedSince({ ask, taskDir }: Look, since: string, head: string): Promise<GitState['committed']> {
  // Read from a file, because git would take a leading hyphen for an option.
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
