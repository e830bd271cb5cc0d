import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';

/**
 * The real path of a file of the project, absolute, whether it is there or not. Throws `refused` where a symbolic link
 * on the way leads out of the project, or to nothing: nothing outside the project is ever written or removed.
 */
export function safePath(projectDir: string, path: string): string {
  const root = realpathSync(projectDir);
  const real = resolveExisting(join(root, path), path);
  if (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
  throw new RalphError(
    'refused',
    `${path} leads out of the project through a symbolic link, to ${real}. ralph-loop writes nothing outside ${projectDir}. Replace the link by a folder or file of its own, or set the loop up in that other project.`,
  );
}

function resolveExisting(path: string, named: string): string {
  const tail: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    if (!exists(at)) {
      tail.unshift(relative(dirname(at), at));
      continue;
    }
    try {
      return join(realpathSync(at), ...tail);
    } catch (error) {
      throw new RalphError('refused', `${named}: the symbolic link ${at} leads nowhere. Remove it first.`, error);
    }
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
}
