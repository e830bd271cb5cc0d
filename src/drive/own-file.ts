import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { regularFile } from '../state/regular-file.ts';

/**
 * Whether a file lies at `path` in a project, that may be written to. Throws for what is no regular file, and where a
 * link leads out of the project, be it the file's own or a folder's on the way: the agent can make one, and what we
 * wrote through it, its own words among it, would land where it may not write itself.
 */
export function ownFile(projectDir: string, path: string): boolean {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const project = realpathSync(projectDir);
  const real = realpathSync(isThere ? path : nearestFolder(dirname(path)));
  if (real !== project && !real.startsWith(project + sep)) {
    throw new Error(`${path} leads out of the project, and nothing is written through it`);
  }
  if (isThere) regularFile(path);
  return isThere;
}

/** The first of a folder and those above it that is there. A link that leads nowhere counts as missing. */
function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}
