import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { ifOutOfReach } from '../state/files/regular-file.ts';

const SLASH = 0x2f;

/** True if paths that differ only in case name the same file on this system's usual file systems. */
export const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/** Removes trailing slashes. A regular expression would cost more, since it is compiled on its second use. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path.charCodeAt(end - 1) === SLASH) end -= 1;
  return path.slice(0, end);
}

/** Returns the same string for equal paths: normalised, no final slash, case folded if file names ignore it. */
export function comparablePath(path: string, caseInsensitive: boolean): string {
  // Most paths skip node's normalize, which a tool hook would call often enough to trigger its optimisation (2.7 ms).
  const isNormal =
    path.startsWith('/') &&
    !(path.includes('//') || path.includes('/./') || path.includes('/..') || path.endsWith('/.'));
  let result = isNormal ? path : normalize(path);
  if (process.platform === 'win32') {
    // Git Bash writes C:\x as /c/x.
    result = result.replaceAll('\\', '/').replace(/^\/([a-zA-Z])(?=\/|$)/, '$1:');
  }
  if (result.length > 1) result = withoutEndSlashes(result);
  // NFC: macOS finds a file by either form of an accented letter.
  return caseInsensitive ? result.normalize('NFC').toLowerCase() : result;
}

/** Returns both comparable forms of an absolute path, as given and resolved; only one if they are equal. */
export function comparableForms(path: string, caseInsensitive: boolean, real: RealPath): string[] {
  return [...new Set([path, real(path)].map((each) => comparablePath(each, caseInsensitive)))];
}

export type RealPath = (path: string) => string;

const MAX_PATH = 4096;

/**
 * Returns a function that resolves the symlinks of a path's nearest existing ancestor as the kernel does (`link/../x` is next
 * to the link's target; node's own realpathSync resolves `..` first). The rest of the path need not exist. Examines each path
 * once; `known` maps links that do not exist yet.
 */
export function realPaths(known = new Map<string, string>()): RealPath {
  const real = (path: string): string => {
    const seen = known.get(path);
    if (seen !== undefined) return seen;
    const found = realPathOf(path) ?? (dirname(path) === path ? path : missing(path));
    known.set(path, found);
    return found;
  };
  const missing = (path: string): string => {
    const placed = below(real(dirname(path)), basename(path));
    // A link beside a folder that does not exist: `new/../link`.
    return placed === path ? path : real(placed);
  };
  return (path) => {
    const absolute = isAbsolute(path) ? path : resolve(path);
    return absolute.length > MAX_PATH ? normalize(absolute) : real(absolute);
  };
}

/** Appends a name that does not exist to a folder. */
function below(folder: string, name: string): string {
  return name === '..' || name === '.' || folder.endsWith('/') ? join(folder, name) : `${folder}/${name}`;
}

/** Resolves a path; null if it is not readable. Checks first, because an exception costs ten times as much. */
function realPathOf(path: string): string | null {
  if (!existsSync(path)) return null;
  return ifOutOfReach(() => realpathSync.native(path), null); // removed meanwhile, or inaccessible
}

export const realPath: RealPath = (path) => realPaths()(path);
