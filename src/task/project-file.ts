import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';

/** Resolves a path to its name relative to the project, with `/`; null if it is outside. */
export function projectPath(projectDir: string, base: string, path: string): string | null {
  const inside = relative(projectDir, resolve(base, path));
  if (inside === '' || isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`)) return null;
  return inside.split(sep).join('/');
}

/** true for a regular file inside the project, links resolved. */
export function isProjectFile(projectDir: string, path: string): boolean {
  const whole = join(projectDir, path);
  try {
    if (!statSync(whole).isFile()) return false;
    const inside = relative(realpathSync(projectDir), realpathSync(whole));
    return !isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`);
  } catch {
    return false; // not there, not ours to read, or a name that no file can have
  }
}
