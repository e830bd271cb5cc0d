import { spawnSync } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { isExecutable, onPath } from '../state/process/find-program.ts';
import { RalphError } from '../text/message.ts';
import { atLeast } from '../text/version.ts';
import type { FoundClient } from './host.ts';

/** How a client is found. */
interface Named {
  readonly title: string;
  readonly program: string;
  /** Variable that names another program. */
  readonly variable: string;
  readonly oldest: string;
  /** Command that installs the client or its newest version. */
  readonly install: string;
  /** Returns the program to run for the one that was found. */
  readonly resolve?: (path: string) => string;
}

/** Returns a client and its version. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
export function namedClient(env: NodeJS.ProcessEnv, of: Named): FoundClient {
  const { title, program, variable, oldest, install, resolve = (path) => path } = of;
  const named = env[variable] || program;
  const found = isAbsolute(named) && isExecutable(named) ? named : onPath(named, env);
  if (found === null) {
    throw new RalphError(
      'client-missing',
      `${program} was not found on PATH. Install ${title} (${install}), or set ${variable} to its path.`,
    );
  }
  const path = resolve(found);
  const { status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const version = status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
  if (version !== null && !atLeast(version, oldest)) {
    throw new RalphError(
      'client-too-old',
      `${title} ${version} (${path}) is not supported: ralph-loop needs ${oldest} or newer. Update it: ${install}.`,
    );
  }
  return { path, version };
}
