import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ifOutOfReach, realPathOf } from '../state/files/regular-file.ts';

/** Returns whether an absolute path is the folder itself or below it; links are not resolved. */
export function isWithin(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return !isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`);
}

/** Returns a path relative to the project, with `/`; null if it is outside. */
export function projectPath(projectDir: string, base: string, path: string): string | null {
  const inside = relative(projectDir, resolve(base, path));
  return inside !== '' && isWithin(projectDir, resolve(base, path)) ? inside.split(sep).join('/') : null;
}

/** Returns whether a path is a regular file inside the project, links resolved. */
export function isProjectFile(projectDir: string, path: string): boolean {
  const whole = join(projectDir, path);
  // It is missing, unreadable, or an invalid name.
  return ifOutOfReach(() => statSync(whole).isFile() && isWithin(realpathSync(projectDir), realpathSync(whole)), false);
}

/** Returns the root of the work tree around a folder, links resolved, even if git does not open it; null without one. */
export function repositoryRoot(directory: string): string | null {
  const real = realPathOf(directory);
  if (real === null) return null;
  for (let at = real; ; at = dirname(at)) {
    if (ifOutOfReach(() => lstatSync(join(at, '.git')), null) !== null) return at;
    if (at === dirname(at)) return null;
  }
}

/** Returns the project's folder in its repository, with a final slash; '' for the repository itself, null without one. */
export function prefixInRepository(projectDir: string): string | null {
  const root = repositoryRoot(projectDir);
  if (root === null) return null;
  const inside = relative(root, realpathSync(projectDir)).split(sep).join('/');
  return inside === '' ? '' : `${inside}/`;
}
