import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopsOwn } from '../../task/left-out.ts';
import { askGit } from './repository.ts';

/** Names of folders and files that package managers, compilers, test runners and systems make again by themselves. */
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
 * Lists the files that git ignores in a work tree, relative to its root, without caches and the loop's own files. A folder that
 * is a repository of its own is one entry, with a final `/`. Throws `refused` if git does not answer.
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

/** Returns size and time of each of these files, to tell later which ones are as they were. */
export function stampsOf(dir: string, paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [path, stampOf(dir, path)]));
}

export function stampOf(dir: string, path: string): string {
  const stat = lstatSync(join(dir, path), { throwIfNoEntry: false });
  return stat === undefined ? 'gone' : `${stat.size} ${stat.mtimeMs}`;
}
