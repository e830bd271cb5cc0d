import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { isLeftOut, MADE_BY_TOOLS } from '../progress/left-out.ts';
import { type Marks, markFile, marksBuilder, type ReadBudget } from '../progress/marks.ts';
import { type GitAnswer, type GitOptions, runGit } from './run-git.ts';

/** How a project stands in its repository. All paths are relative to the project. */
export interface GitState {
  /** The commit of HEAD, or `(initial)`. */
  readonly head: string;
  /** What the index has that HEAD has not. */
  readonly index: Readonly<Record<string, string>>;
  /** Files that are not as the index has them, and files that it does not know. */
  readonly tree: Marks;
  /** What the commits since another snapshot changed; null where HEAD is the same, or nobody can tell. */
  readonly committed: Committed | null;
}

export interface Committed {
  /** The commit that it is compared with. */
  readonly since: string;
  /** 200 at most, without those that do not count. */
  readonly files: readonly string[];
  /** Nothing that was committed counts: it is all the loop's own, or made by tools. */
  readonly onlyLeftOut: boolean;
}

export interface GitLimits {
  /** Changed and unknown files that are looked at. */
  readonly files: number;
  /** Of these, how many are read, and how much in all. */
  readonly read: number;
  readonly bytes: number;
  readonly timeMs: number;
}

export const GIT_LIMITS: GitLimits = { files: 5_000, read: 1_000, bytes: 16 * 1024 * 1024, timeMs: 1_000 };

const MAX_COMMITTED = 200;

export type GitLook =
  | { readonly kind: 'state'; readonly state: GitState }
  /** The name of the bound that was hit. */
  | { readonly kind: 'unknown'; readonly limit: string };

type Settings = readonly (readonly [string, string])[];

interface Look {
  readonly projectDir: string;
  readonly taskDir: string;
  /** The project's place in the repository, '' for its top, otherwise with a slash at its end. */
  readonly prefix: string;
  readonly limits: GitLimits;
  /** By performance.now(). */
  readonly deadline: number;
  readonly ask: (words: readonly string[], settings?: Settings) => Promise<GitAnswer>;
}

/**
 * Asks git how the project stands: commits, index and work tree, without what is ignored and what does not count.
 * `taskDir` is relative to the project; `since` is the HEAD of the snapshot to compare with. Rejects only with the
 * abort's reason.
 */
export async function gitState(
  projectDir: string,
  taskDir: string,
  since: string | null,
  options: Omit<GitOptions, 'timeMs'>,
  limits: GitLimits = GIT_LIMITS,
): Promise<GitLook> {
  const prefix = prefixInRepository(projectDir);
  if (prefix === null) return unknown('repository');
  const deadline = performance.now() + limits.timeMs;
  const ask: Look['ask'] = (words, settings) =>
    runGit(projectDir, words, { ...options, timeMs: Math.max(1, Math.round(deadline - performance.now())) }, settings);
  const look: Look = { projectDir, taskDir, prefix, limits, deadline, ask };

  const [status, others, ignored] = await Promise.all([
    statusOf(look),
    // Compares no contents, so no filter is run, and need not wait for what these are.
    ask(OTHERS),
    prefix === '' ? null : ask(['check-ignore', '--quiet', '.']),
  ]);
  if (status.kind !== 'answer') return unknown(status.kind);
  if (others.kind !== 'answer') return unknown(others.kind);
  // A repository further up that ignores the project sees nothing of what happens in it.
  if (ignored?.kind === 'answer') return unknown('repository');
  const said = parseStatus(status.text);
  if (said === null) return unknown('failed');
  const { head } = said;
  const committed = since === null || since === head ? null : await committedSince(look, since, head);
  return { kind: 'state', state: { head, ...changesOf(look, said, others.text), committed } };
}

/** What git says of the tracked files, with the programs of the repository's own filters taken out. */
async function statusOf({ ask, prefix }: Look): Promise<GitAnswer> {
  const filters = await ask(PROGRAMS_OF_FILTERS);
  const hasNone = filters.kind === 'failed' && filters.code === 1;
  if (filters.kind !== 'answer' && !hasNone) return filters;
  // With a pathspec that is the whole tree git would compare each path with it.
  const words = prefix === '' ? STATUS : [...STATUS, '--', '.'];
  return ask(words, filters.kind === 'answer' ? withoutPrograms(filters.text) : []);
}

function unknown(limit: string): GitLook {
  return { kind: 'unknown', limit: `git-${limit}` };
}

const PROGRAMS_OF_FILTERS = [
  ...['config', '--null', '--show-scope', '--includes', '--name-only', '--get-regexp'],
  '^filter\\..*\\.(clean|smudge|process|required)$',
];
/** Two questions at once take the time of one: git itself would look for unknown files after the known ones. */
const STATUS = [
  ...['status', '--porcelain=v2', '-z', '--branch', '--no-ahead-behind', '--no-renames', '--untracked-files=no'],
  // `dirty` reads a submodule's HEAD itself; without it git starts another git there, under that one's configuration.
  '--ignore-submodules=dirty',
];
const OTHERS = [
  ...['ls-files', '-z', '--others', '--exclude-standard'],
  ...[...MADE_BY_TOOLS, '.ralph-runner*'].flatMap((name) => ['--exclude', `${name}/`]),
];

/** Takes their programs from the filters that the repository itself configures: git runs them to compare contents. */
function withoutPrograms(answer: string): Settings {
  const parts = answer.split('\0');
  const names = new Set<string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const key = parts[at + 1] ?? '';
    if (parts[at] === 'local' || parts[at] === 'worktree') names.add(key.slice(0, key.lastIndexOf('.')));
  }
  return [...names].flatMap((name) => [
    [`${name}.clean`, ''] as const,
    [`${name}.process`, ''] as const,
    [`${name}.required`, 'false'] as const,
  ]);
}

/** `untracked` is relative to the project already. */
function changesOf(look: Look, { index, dirty }: GitStatus, untracked: string): Pick<GitState, 'index' | 'tree'> {
  const counts = (path: string): boolean => !isLeftOut(path, look.taskDir);
  const inside = (path: string): string => path.slice(look.prefix.length);
  const paths = [...dirty.map(inside), ...pathsIn(untracked)].filter(counts);
  const entries = Object.entries(index).map(([path, entry]) => [inside(path), entry] as const);
  return { index: Object.fromEntries(entries.filter(([path]) => counts(path))), tree: markPaths(look, paths) };
}

function markPaths({ projectDir, limits, deadline }: Look, paths: readonly string[]): Marks {
  const found = marksBuilder('git');
  const budget: ReadBudget = { files: limits.read, bytes: limits.bytes };
  for (const path of paths.toSorted()) {
    if (found.count() >= limits.files || performance.now() > deadline) {
      found.miss(found.count() >= limits.files ? 'files' : 'time');
      break;
    }
    // A name that is no UTF-8 cannot be asked for by this text.
    found.add(path, path.includes('\uFFFD') ? { kind: 'unreadable' } : markFile(join(projectDir, path), budget));
  }
  return found.build();
}

async function committedSince({ ask, taskDir }: Look, since: string, head: string): Promise<Committed | null> {
  // It comes from a file, and git would take what begins with a hyphen for an option.
  if (![since, head].every((commit) => /^[0-9a-f]{40,64}$/.test(commit))) return null;
  const diff = await ask(['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--relative', since, head]);
  if (diff.kind !== 'answer') return null;
  const all = pathsIn(diff.text);
  const files = all.filter((path) => !isLeftOut(path, taskDir));
  return { since, files: files.slice(0, MAX_COMMITTED), onlyLeftOut: all.length > 0 && files.length === 0 };
}

function pathsIn(text: string): string[] {
  return text.split('\0').filter((path) => path !== '');
}

function prefixInRepository(projectDir: string): string | null {
  try {
    const real = realpathSync(projectDir);
    for (let at = real; ; at = dirname(at)) {
      if (lstatSync(join(at, '.git'), { throwIfNoEntry: false }) !== undefined) {
        return at === real ? '' : `${relative(at, real).split(sep).join('/')}/`;
      }
      if (at === dirname(at)) return null;
    }
  } catch {
    return null; // no such project, or a folder above it that is closed to us
  }
}

/** What `git status --porcelain=v2 --branch -z` says. Paths are relative to the top of the work tree. */
export interface GitStatus {
  /** The commit of HEAD, or `(initial)`. */
  readonly head: string;
  /** What the index has that HEAD has not: modes and object names, by path. */
  readonly index: Readonly<Record<string, string>>;
  /** Files of the work tree that are not as the index has them. */
  readonly dirty: readonly string[];
}

/** `1 XY sub mH mI mW hH hI path` and `u XY sub m1 m2 m3 mW h1 h2 h3 path` */
const CHANGED = /^1 (.)(.) \S+ \d+ (\d+) \d+ \S+ (\S+) (.+)$/s;
const UNMERGED = /^u (\S+) \S+ (\d+ \d+ \d+ \d+ \S+ \S+ \S+) (.+)$/s;

/** Reads the answer of a git that was told `--no-renames`; null where it is none. */
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
