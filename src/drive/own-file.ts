import { lstatSync, realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { regularFile } from '../state/regular-file.ts';

/**
 * Whether a file lies at `path` in a project, that may be written to. Throws for what is no regular file, and for a link
 * that leads out of the project: the agent can make one, and what we wrote through it, its own words among it, would
 * land where it may not write itself.
 */
export function ownFile(projectDir: string, path: string): boolean {
  const lies = lstatSync(path, { throwIfNoEntry: false });
  if (lies === undefined) return false;
  if (lies.isSymbolicLink() && !realpathSync(path).startsWith(realpathSync(projectDir) + sep)) {
    throw new Error(`${path} leads out of the project, and nothing is written through it`);
  }
  regularFile(path);
  return true;
}
