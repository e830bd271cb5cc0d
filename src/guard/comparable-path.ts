import { normalize } from 'node:path';

const SLASH = 0x2f;

/** Whether paths that differ in letter case only name the same file on this system's usual file systems. */
export const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/** Without a regular expression: the second use of one compiles it, which costs more than all these paths together. */
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
