import { spawnSync } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { isExecutable, onPath } from '../state/process/find-program.ts';
import { advise, RalphError } from '../text/message.ts';
import { atLeast } from '../text/version.ts';
import type { FoundClient } from './host.ts';

/** How a client is found. */
export interface Named {
  readonly title: string;
  readonly program: string;
  /** Variable that names another program. */
  readonly variable: string;
  readonly oldest: string;
  readonly install: string;
  /** Sentence about its newest version; by default, the same command brings it. */
  readonly update?: string;
  /** Returns where the PATH may have the named program. By default, it is that program. */
  readonly places?: (named: string) => readonly string[];
  /** Returns the program to run for the one that was found. */
  readonly resolve?: (path: string) => string;
}

/** Returns a client and its version. Throws RalphError `client-missing`, `client-too-old`; accepts unknown versions. */
export function namedClient(env: NodeJS.ProcessEnv, of: Named): FoundClient {
  const client = findNamed(env, of);
  const { path, version } = client;
  if (version === null || atLeast(version, of.oldest)) return client;
  throw new RalphError(
    'client-too-old',
    `${tooOldText(of, path, version)} ${of.update ?? `Update it: ${of.install}.`}`,
  );
}

export function tooOldText({ title, oldest }: Named, path: string, version: string): string {
  return `${title} ${version} (${path}) is not supported: ralph-loop needs ${oldest} or newer.`;
}

/** Returns a client of any version. Throws RalphError `client-missing`. */
export function findNamed(env: NodeJS.ProcessEnv, of: Named): FoundClient {
  const { title, program, variable, install, places = (name) => [name], resolve = (path) => path } = of;
  const named = env[variable] || program;
  const found = places(named).map((place) => onPath(place, env));
  const path = isAbsolute(named) && isExecutable(named) ? named : found.find((place) => place !== null);
  if (path !== undefined && path !== null) return { path: resolve(path), version: versionOf(resolve(path)) };
  throw new RalphError(
    'client-missing',
    `${program} was not found on PATH. Install ${title} (${install}), or set ${variable} to its path.`,
  );
}

/** Returns the refusal of a word after `--` that a client would take for its prompt. */
export function promptRefused(word: string, title: string): RalphError {
  const text = `-- ${word}: the loop makes the prompt of ${title}, so only options may follow --.`;
  return new RalphError('usage', advise(text, 'Send the agent a message while it works', 'steer "TEXT"'));
}

/** Codes of a program that does not answer in time, or that cannot be started: the loop's start reports this one. */
const NO_ANSWER = new Set(['ETIMEDOUT', 'ENOENT', 'EACCES', 'ENOEXEC', 'ETXTBSY', 'EFTYPE', 'UNKNOWN']);

/** Returns the version that a client prints; null for one that fails, gives no answer in 10 s or prints none. */
function versionOf(path: string): string | null {
  const { error, status, stdout } = spawnSync(path, ['--version'], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (error !== undefined && !NO_ANSWER.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
}
