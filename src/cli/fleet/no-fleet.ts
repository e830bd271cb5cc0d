import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleDir } from '../../install/places.ts';
import { FLEET_FILE } from '../../state/process/code-cache.ts';
import { RalphError } from '../../text/ralph-error.ts';

/** Explains why the code of the fleet is missing: the copy that `init` puts into a project lacks its file. Throws. */
export function noFleet(error: Error): never {
  if (existsSync(join(bundleDir(), 'scripts', FLEET_FILE))) throw error;
  const why = 'this copy in the project has no fleet; the npm package and the plugin have it.';
  throw new RalphError('usage', `${why} Install one of these and call its ralph-loop.`, error);
}
