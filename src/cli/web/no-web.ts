import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleDir } from '../../install/places.ts';
import { WEB_FILE } from '../../state/process/code-cache.ts';
import { RalphError } from '../../text/ralph-error.ts';

/** Explains why the page's code is missing: the copy that `init` puts into a project lacks its file. Throws. */
export function noWeb(error: Error): never {
  if (existsSync(join(bundleDir(), 'scripts', WEB_FILE))) throw error;
  const why = "the project's copy has no report and no dashboard; the npm package and the plugin have them.";
  throw new RalphError('usage', `${why} Install one of these as the README says, and call its ralph-loop.`, error);
}
