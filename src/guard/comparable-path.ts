import { normalize } from 'node:path';

/** Whether paths that differ in letter case only name the same file on this system's usual file systems. */
export const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/** A form in which equal paths are equal strings: normalised, no slash at the end, case folded where the file system does. */
export function comparablePath(path: string, caseInsensitive: boolean): string {
  let result = normalize(path);
  if (process.platform === 'win32') {
    // Git Bash writes C:\x as /c/x.
    result = result.replaceAll('\\', '/').replace(/^\/([a-zA-Z])(?=\/|$)/, '$1:');
  }
  if (result.length > 1) result = result.replace(/\/+$/, '');
  // NFC: macOS finds a file by either form of an accented letter.
  return caseInsensitive ? result.normalize('NFC').toLowerCase() : result;
}
