import { homedir, userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import { RalphError } from '../text/message.ts';
import { orElse } from '../text/or-else.ts';

/**
 * Returns the user's home folder, an absolute path: an empty or relative HOME would put the state into the project. Throws
 * `state-io` if nothing names one: a container may run as a user that its system does not know.
 */
export function homeFolder({ HOME, USERPROFILE }: Readonly<Record<string, string | undefined>>): string {
  const known = [() => HOME, () => USERPROFILE, homedir, () => userInfo().homedir];
  for (const look of known) {
    const home = orElse(look, undefined);
    if (home && isAbsolute(home)) return home;
  }
  throw new RalphError('state-io', 'This user has no home folder. Set HOME to a folder that you can write to.');
}
