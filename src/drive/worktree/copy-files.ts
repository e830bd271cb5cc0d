import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { ifMissing } from '../../state/files/regular-file.ts';
import { partsOf } from '../../task/git/run-git.ts';
import { isLoopsOwn } from '../../task/left-out.ts';
import {
  hasFolder,
  LOOP_CONFIG,
  loopDirectoryName,
  PROJECT_CONFIG,
  RUN_CONFIG,
  taskKind,
  WORKTREES,
} from '../../task/task-file.ts';
import { askGit, changedFiles, userGit } from './repository.ts';

/** Settings and signs that apply in addition to the task file. */
const SETTINGS = [PROJECT_CONFIG, '.claude/ralph/guardrails.md', RUN_CONFIG];
/** Files of a task folder that is the whole project. */
const TASK_OWN = ['OPEN_QUESTIONS.md', 'RALPH_PROGRESS.md'];
/** Files of a loop directory; its other files come from earlier runs. */
const LOOP_OWN = [LOOP_CONFIG, 'reflect.md'];

/**
 * Copies task, uncommitted files of its folder and settings, or only those still missing; returns relative paths. Follows no
 * links.
 */
export function copyTask(
  from: string,
  to: string,
  taskPath: string,
  env: NodeJS.ProcessEnv,
  { onlyMissing = false } = {},
): string[] {
  return [...new Set([taskPath, ...ofFolder(from, taskPath, env), ...SETTINGS])]
    .filter((path) => !onlyMissing || !existsSync(join(to, path)))
    .filter((path) => copyChanged(join(from, path), join(to, path), realpathSync(to)));
}

/** Copies ignored files that one of these globs matches; returns relative paths. Follows no links. */
export function copyIgnored(from: string, to: string, globs: readonly string[], env: NodeJS.ProcessEnv): string[] {
  if (globs.length === 0) return [];
  const words = ['--exclude-standard', '--', ...globs.map((glob) => `:(glob)${glob}`)];
  return copyFiles(from, to, ignoredHere(from, words, env));
}

/** File at the root of a repository with patterns, as in `.gitignore`, of ignored files that belong into new worktrees. */
export const INCLUDE_FILE = '.worktreeinclude';

/** Copies the ignored files that the repository's `.worktreeinclude` names, from root to root. Follows no links. */
export function copyIncluded(from: string, to: string, env: NodeJS.ProcessEnv): string[] {
  if (!isPlainFile(join(from, INCLUDE_FILE))) return [];
  const ignored = new Set(ignoredHere(from, ['--exclude-standard'], env));
  const named = ignoredHere(from, [`--exclude-from=${INCLUDE_FILE}`], env).filter((path) => ignored.has(path));
  return copyFiles(from, to, named);
}

function ignoredHere(from: string, words: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const list = ['ls-files', '-z', '--others', '--ignored', ...words];
  return partsOf(askGit(from, list, env, 'ignored files could not be listed'));
}

function copyFiles(from: string, to: string, paths: readonly string[]): string[] {
  const root = realpathSync(to);
  return paths
    .filter((path) => !`/${path}`.includes(`/${WORKTREES}/`))
    .filter((path) => copyChanged(join(from, path), join(to, path), root));
}

/** Returns whether both are plain files with the same content and the same executable bit. */
export function isSame(one: string, other: string): boolean {
  const runs = (path: string): boolean => (statSync(path).mode & 0o100) !== 0;
  const isEqual = (): boolean => readFileSync(one).equals(readFileSync(other)) && runs(one) === runs(other);
  return ifMissing(() => isPlainFile(one) && isPlainFile(other) && isEqual(), false);
}

function ofFolder(from: string, taskPath: string, env: NodeJS.ProcessEnv): string[] {
  if (!hasFolder(taskKind(taskPath))) return [];
  const folder = dirname(taskPath);
  if (folder === '.') return TASK_OWN;
  if (loopDirectoryName(taskPath) !== null) return LOOP_OWN.map((name) => `${folder}/${name}`);
  return changedFiles(from, env).changed.filter((path) => path.startsWith(`${folder}/`));
}

function copyChanged(from: string, to: string, root: string): boolean {
  if (!isPlainFile(from) || isSame(from, to)) return false;
  mkdirSync(dirname(to), { recursive: true });
  const parent = realpathSync(dirname(to));
  // A committed link must not lead the copy out of the worktree.
  if (parent !== root && !parent.startsWith(root + sep)) return false;
  if (lstatSync(to, { throwIfNoEntry: false })?.isSymbolicLink() === true) return false;
  copyFileSync(from, to);
  return true;
}

function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Names of folders and files that package managers, compilers, test runners and systems create again by themselves. */
const CACHES = new Set(
  [
    'node_modules bower_components .pnpm-store .yarn .venv venv vendor .bundle Pods .eggs',
    '__pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .hypothesis .gradle .dart_tool .terraform',
    '.cache .parcel-cache .turbo .next .nuxt .svelte-kit .angular .nyc_output coverage',
    '.coverage .eslintcache .stylelintcache .DS_Store Thumbs.db',
  ].flatMap((line) => line.split(' ')),
);
const CACHED = /\.(?:pyc|pyo|tsbuildinfo|egg-info)$/;
/** File that marks a folder as a cache (bford.info/cachedir), as cargo and others write it. */
const CACHE_TAG = 'CACHEDIR.TAG';

/**
 * Lists the files that git ignores in a work tree, relative to its root, without caches and the loop's own files. A nested
 * repository is one entry, with a final `/`. Throws `refused` if git does not answer.
 */
export function ignoredFiles(dir: string, env: NodeJS.ProcessEnv): string[] {
  const words = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const entries = askGit(dir, words, env, 'ignored files could not be listed').split('\0');
  return entries
    .filter((path) => path !== '' && !isOwn(path) && !isCache(dir, path))
    .flatMap((path) => filesIn(dir, path));
}

function filesIn(dir: string, path: string): string[] {
  if (!path.endsWith('/')) return [path];
  if (existsSync(join(dir, path, '.git'))) return [path];
  return readdirSync(join(dir, path), { withFileTypes: true }).flatMap((entry) => {
    const inside = `${path}${entry.name}${entry.isDirectory() ? '/' : ''}`;
    return isOwn(inside) || isCache(dir, inside) ? [] : filesIn(dir, inside);
  });
}

function isCache(dir: string, path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.some((part) => CACHES.has(part) || CACHED.test(part))) return true;
  return path.endsWith('/') && existsSync(join(dir, path, CACHE_TAG));
}

/** Returns whether a path is the loop's own; those of a project in a folder of the repository have its prefix. */
function isOwn(path: string): boolean {
  const parts = path.split('/');
  return parts.some((_part, at) => isLoopsOwn(parts.slice(at).join('/')));
}

/** Returns size and time of each of these files, to recognise unchanged ones later. */
export function stampsOf(dir: string, paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [path, stampOf(dir, path)]));
}

export function stampOf(dir: string, path: string): string {
  const stat = lstatSync(join(dir, path), { throwIfNoEntry: false });
  return stat === undefined ? 'gone' : `${stat.size} ${stat.mtimeMs}`;
}

interface Submodule {
  /** Section in `.gitmodules`. */
  readonly name: string;
  /** Relative to the work tree. */
  readonly path: string;
}

/** Lists the submodules of a work tree, whether or not their files exist. */
function submodulesOf(dir: string, env: NodeJS.ProcessEnv): Submodule[] {
  if (!existsSync(join(dir, '.gitmodules'))) return [];
  const words = ['config', '--file', '.gitmodules', '--null', '--get-regexp', String.raw`^submodule\..*\.path$`];
  const { ok, text } = userGit(dir, words, env);
  if (!ok) return [];
  return text.split('\0').flatMap((entry) => {
    const at = entry.indexOf('\n');
    if (at < 0) return [];
    return [{ name: entry.slice('submodule.'.length, at - '.path'.length), path: entry.slice(at + 1) }];
  });
}

const isThere = (dir: string, { path }: Submodule): boolean => existsSync(join(dir, path, '.git'));

/**
 * Checks out the submodules that the main checkout has, from its own copies: nothing is fetched from elsewhere. Their remotes are
 * those of the main checkout. Returns the paths of those that could not be checked out.
 */
export function checkOutSubmodules(mainDir: string, dir: string, env: NodeJS.ProcessEnv): string[] {
  return submodulesOf(dir, env).flatMap((submodule) => {
    const { name, path } = submodule;
    const [here, there] = [join(mainDir, path), join(dir, path)];
    if (!isThere(mainDir, submodule) || isThere(dir, submodule)) return [];
    const source = resolve(
      here,
      askGit(here, ['rev-parse', '--git-dir'], env, `the submodule ${path} could not be read`),
    );
    const local = ['-c', `submodule.${name}.url=${source}`, '-c', 'protocol.file.allow=always'];
    const made = userGit(dir, [...local, 'submodule', '--quiet', 'update', '--init', '--', path], env);
    if (!made.ok) return [path];
    const origin = userGit(here, ['config', '--get', 'remote.origin.url'], env);
    if (origin.ok) userGit(there, ['remote', 'set-url', 'origin', origin.text.trim()], env);
    return checkOutSubmodules(here, there, env).map((inner) => `${path}/${inner}`);
  });
}

/** Lists the submodules of a worktree with commits that the main checkout's copies of them lack. */
export function unsavedSubmodules(mainDir: string, dir: string, env: NodeJS.ProcessEnv): string[] {
  return submodulesOf(dir, env).flatMap((submodule) => {
    if (!isThere(dir, submodule)) return [];
    const { path } = submodule;
    const [here, there] = [join(mainDir, path), join(dir, path)];
    const words = ['for-each-ref', '--format=%(objectname)', 'refs/heads'];
    const tips = askGit(there, words, env, `the submodule ${path} could not be read`).split('\n');
    const head = userGit(there, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env);
    const isSaved = (commit: string): boolean =>
      commit === '' ||
      (isThere(mainDir, submodule) && userGit(here, ['cat-file', '-e', commit], env).ok) ||
      userGit(there, ['branch', '--remotes', '--contains', commit], env).text !== '';
    const own = [...tips, head.text.trim()].every(isSaved) ? [] : [path];
    return [...own, ...unsavedSubmodules(here, there, env).map((inner) => `${path}/${inner}`)];
  });
}
