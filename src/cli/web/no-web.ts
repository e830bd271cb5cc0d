import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleDir } from '../../install/places.ts';
import { WEB_FILE } from '../../state/files/code-cache.ts';
import { RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';

/** Explains why the page's code is missing: the copy that `init` puts into a project does not contain it. Throws. */
export function noWeb(error: Error): never {
  if (existsSync(join(bundleDir(), 'scripts', WEB_FILE))) throw error;
  const why = "the project's copy leaves out the pages of report and dashboard.";
  const how = `Run this here with the installed program: ralph-loop ${process.argv.slice(2).map(quoted).join(' ')}.`;
  throw new RalphError('usage', `${why} ${how} "npm install -g ." in a clone of ralph-loop installs it.`, error);
}
