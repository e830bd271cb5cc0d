import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';

/** What a path means inside a project: its name relative to the project, with `/`; null when it leads out of it. */
export function projectPath(projectDir: string, base: string, path: string): string | null {
  const inside = relative(projectDir, resolve(base, path));
  if (inside === '' || isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`)) return null;
  return inside.split(sep).join('/');
}

/** true for a regular file that really lies inside the project, symlinks followed. */
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
