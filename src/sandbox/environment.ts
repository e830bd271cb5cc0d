import { delimiter, dirname, isAbsolute } from 'node:path';
import { realPathOf } from '../state/files/regular-file.ts';

/**
 * Returns the environment of checks: outside the loop (RALPH_ACTIVE=0), with the certificates that our registration of
 * hooks withholds from node, and without settings by which only an agent's git ignores files.
 */
export function gateEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { RALPH_NODE_EXTRA_CA_CERTS: certificates, ...own } = withoutGitExcludes(env);
  const given: Record<string, string | undefined> = { ...own, RALPH_ACTIVE: '0' };
  if (certificates) given['NODE_EXTRA_CA_CERTS'] = certificates;
  else if (given['NODE_EXTRA_CA_CERTS'] === '') delete given['NODE_EXTRA_CA_CERTS'];
  return given;
}

/** Variable of a confined client that holds the whole PATH of its user, which the agent's shell gets back. */
const WHOLE_PATH = 'RALPH_WHOLE_PATH';

/**
 * Removes the folders below `writable` from this process's own PATH; returns variables that bring them back in the agent's
 * shell: an agent in the sandbox may write there, and a `git` or `bwrap` that it leaves would run outside.
 */
export function guardPath(env: NodeJS.ProcessEnv, writable: readonly string[]): Record<string, string> {
  const whole = env['PATH'] ?? '';
  env['PATH'] = pathOutside(whole, writable);
  return env['PATH'] === whole ? {} : { [WHOLE_PATH]: whole };
}

/** Returns a PATH without entries that lead through these folders, and without relative ones, which may anywhere. */
export function pathOutside(path: string, writable: readonly string[]): string {
  const isOutside = (folder: string): boolean => isAbsolute(folder) && !isBelow(folder, writable);
  return path.split(delimiter).filter(isOutside).join(delimiter);
}

/** Returns whether a path leads through one of these folders, also by links. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  const at = realPathOf(path) ?? path;
  if (folders.some((folder) => `${at}/`.startsWith(`${realPathOf(folder) ?? folder}/`))) return true;
  return dirname(path) !== path && isBelow(dirname(path), folders);
}

/** Variable in the shell of an agent in the sandbox that names our list of ignored files. */
export const MARK = 'RALPH_GIT_EXCLUDES';

/** Returns the environment without these variables, so that the loop's own git sees every file. */
export function withoutGitExcludes<T extends NodeJS.ProcessEnv>(env: T): T {
  const file = env[MARK];
  const last = Number(env['GIT_CONFIG_COUNT']) - 1;
  if (file === undefined || env[`GIT_CONFIG_VALUE_${last}`] !== file) return env;
  const own = [MARK, 'GIT_CONFIG_COUNT', `GIT_CONFIG_KEY_${last}`, `GIT_CONFIG_VALUE_${last}`];
  const kept = Object.entries(env).filter(([name]) => !own.includes(name));
  return Object.fromEntries(last === 0 ? kept : [...kept, ['GIT_CONFIG_COUNT', String(last)]]) as T;
}

/** Returns variables that add git settings to those already in an environment. */
export function gitSettings(
  env: NodeJS.ProcessEnv,
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  const count = Number(env['GIT_CONFIG_COUNT'] ?? 0);
  const first = Number.isInteger(count) && count >= 0 ? count : 0;
  const pairs = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  return { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(first + settings.length) };
}
