import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ifOutOfReach } from '../state/files/regular-file.ts';

interface Repository {
  readonly top: string;
  /** Directory with the index and HEAD; in a linked worktree `.git` is a file that names it. */
  readonly git: string;
}

function repositoryAround(directory: string): Repository | null {
  for (let top = resolve(directory); ; top = dirname(top)) {
    const git = join(top, '.git');
    if (existsSync(git)) {
      const link = /^gitdir: (.+)$/m.exec(textOf(git) ?? '')?.[1]?.trim();
      return { top, git: link === undefined ? git : resolve(top, link) };
    }
    if (top === dirname(top)) return null;
  }
}

/** Returns the root of the working tree around a directory; without a repository, the directory. */
export function topOf(directory: string): string {
  return repositoryAround(directory)?.top ?? directory;
}

/** Reads a regular file: reading a named pipe would block. */
function textOf(path: string): string | null {
  return ifOutOfReach(() => (statSync(path).isFile() ? readFileSync(path, 'utf8') : null), null);
}

/** Returns the current branch of a directory's repository; null if there is none or it is unknown. Never throws. */
export function currentBranch(directory: string): string | null {
  const git = repositoryAround(directory)?.git ?? null;
  const head = git === null ? null : textOf(join(git, 'HEAD'));
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? '')?.[1]?.trim() ?? null;
}

/** Returns the text of the repository's own settings; empty if unreadable. */
export function settingsOf(directory: string): string {
  const git = repositoryAround(directory)?.git;
  if (git === undefined) return '';
  const common = textOf(join(git, 'commondir'))?.trim();
  return textOf(join(common === undefined ? git : resolve(git, common), 'config')) ?? '';
}

/** Returns a test for tracked absolute paths: always false without a repository, `unknown` if git cannot list them. */
export function trackedFiles(directory: string, unknown = true): (path: string) => boolean {
  const top = repositoryAround(directory)?.top;
  if (top === undefined) return () => false;
  const tracked = pathsOf(top, ['ls-files', '-z']);
  const paths = new Set(tracked?.map((path) => join(top, path)));
  return (path) => (tracked === null ? unknown : paths.has(path));
}

const GIT_MS = 2000;
/** The agent may have written the repository's settings, so none of its programs run here. */
const HARDENED = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

/** Read-only, without network, sockets and privileges. Replaces src/sandbox, which would make every hook larger. */
const CONFINED =
  '--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --unshare-all --cap-drop ALL --die-with-parent --new-session';

/** Returns the paths that a git command prints with `-z`; null if git fails. */
function pathsOf(top: string, args: readonly string[], input = '', isConfined = false): string[] | null {
  const options = { input, encoding: 'utf8', timeout: GIT_MS, maxBuffer: 2 ** 28 } as const;
  const [program, ...first] = isConfined ? ['bwrap', ...CONFINED.split(' '), '--ro-bind', top, top, 'git'] : ['git'];
  const { error, status, stdout } = spawnSync(program ?? '', [...first, '-C', top, ...HARDENED, ...args], options);
  // For a git that ends exactly at its timeout, node drops the output and reports success.
  return error !== undefined || status === null || status > 1 ? null : stdout.split('\0').filter(Boolean);
}

/**
 * Returns a test for tracked files that differ between revisions, or from one; null if git cannot say. To compare contents,
 * git runs filters, which an agent in a sandbox may have set: git is then confined as well.
 */
export function changedByGit(
  directory: string,
  revisions: readonly string[],
  isConfined: boolean,
): ((path: string) => boolean) | null {
  const top = repositoryAround(directory)?.top;
  const options = ['--name-only', '-z', '--no-ext-diff', '--no-textconv', '--no-renames', '--ignore-submodules'];
  const changed = top === undefined ? null : pathsOf(top, ['diff', ...options, ...revisions, '--'], '', isConfined);
  // For a file that is assumed to be unchanged, git shows no difference, yet restores it.
  const assumed = changed === null ? null : pathsOf(top ?? '', ['ls-files', '-v', '-z']);
  if (changed === null || assumed === null) return null;
  const hidden = assumed.filter((line) => /^[a-z]/.test(line)).map((line) => line.slice(2));
  const paths = new Set([...changed, ...hidden].map((path) => join(top ?? '', path)));
  return (path) => paths.has(path);
}

/** Returns whether git certainly has nothing stashed; what this command itself stashes is judged where it does so. */
export function isWithoutStash(directory: string): boolean {
  const top = repositoryAround(directory)?.top;
  return top !== undefined && pathsOf(top, ['rev-parse', '--quiet', '--verify', 'refs/stash'])?.length === 0;
}

/** Returns the paths that git's ignore files match, tracked or not, as rg and fd do. Never throws. */
export function ignoredByGit(directory: string, paths: readonly string[]): ReadonlySet<string> {
  const top = repositoryAround(directory)?.top;
  const inside = paths.filter((path) => top !== undefined && path.startsWith(`${top}/`));
  if (top === undefined || inside.length === 0) return new Set();
  // rg and fd have their own ignore files, which may override .gitignore.
  const isTakenBack = (path: string): boolean => {
    for (let folder = dirname(path); folder.startsWith(top); folder = dirname(folder))
      if (['.ignore', '.rgignore', '.fdignore'].some((name) => existsSync(join(folder, name)))) return true;
    return false;
  };
  const ignored = pathsOf(top, ['check-ignore', '--no-index', '-z', '--stdin'], inside.join('\0')) ?? [];
  return new Set(ignored.filter((path) => !isTakenBack(path)));
}
