import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';

const SLASH = 0x2f;

/** Paths that differ only in case name the same file on this system's usual file systems. */
export const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/** Removes trailing slashes. A regular expression, compiled on its second use, would cost more than all paths. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path.charCodeAt(end - 1) === SLASH) end -= 1;
  return path.slice(0, end);
}

/** A form in which equal paths are equal strings: normalised, no slash at the end, case folded where the file system does. */
export function comparablePath(path: string, caseInsensitive: boolean): string {
  let result = normalize(path);
  if (process.platform === 'win32') {
    // Git Bash writes C:\x as /c/x.
    result = result.replaceAll('\\', '/').replace(/^\/([a-zA-Z])(?=\/|$)/, '$1:');
  }
  if (result.length > 1) result = withoutEndSlashes(result);
  // NFC: macOS finds a file by either form of an accented letter.
  return caseInsensitive ? result.normalize('NFC').toLowerCase() : result;
}

/** Both comparable forms of an absolute path, as given and real; one where they are equal. */
export function comparableForms(path: string, caseInsensitive: boolean): string[] {
  return [...new Set([path, realPath(path)].map((each) => comparablePath(each, caseInsensitive)))];
}

/** Resolves a path; null if it is not readable. Checks first, since an exception costs ten times as much. */
function realPathOf(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    return realpathSync.native(path);
  } catch {
    return null; // gone meanwhile, or a way that may not be read
  }
}

/**
 * Resolves the symlinks of a path's nearest existing ancestor as the kernel does (`link/../x` is next to the link's
 * target; node's own realpathSync resolves `..` first). The rest of the path need not exist.
 */
export function realPath(path: string): string {
  const absolute = isAbsolute(path) ? path : resolve(path);
  let existing = absolute;
  let missing = '';
  // A path has few segments; a longer one than this is no file name that the system accepts.
  for (let steps = 0; steps < 256; steps += 1) {
    const real = realPathOf(existing);
    if (real !== null) return join(real, missing);
    const parent = dirname(existing);
    if (parent === existing) break;
    missing = join(basename(existing), missing);
    existing = parent;
  }
  return normalize(absolute);
}
