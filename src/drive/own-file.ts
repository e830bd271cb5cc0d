import { lstatSync } from 'node:fs';
import { sep } from 'node:path';
import { realPath } from '../guard/real-path.ts';
import { regularFile } from '../state/regular-file.ts';

/**
 * Whether a file lies at `path` in a project, that may be written to. Throws for what is no regular file, and where a
 * link leads out of the project, be it the file's own or a folder's on the way: the agent can make one, and what we
 * wrote through it, its own words among it, would land where it may not write itself.
 */
export function ownFile(projectDir: string, path: string): boolean {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (!realPath(path).startsWith(realPath(projectDir) + sep)) {
    throw new Error(`${path} leads out of the project, and nothing is written through it`);
  }
  if (isThere) regularFile(path);
  return isThere;
}
