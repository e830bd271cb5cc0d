import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { homeOf } from '../../sandbox/terms.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { isWithin } from '../../task/project-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { GIT_TEXTS } from './messages.ts';

/** The data folder of the workers of one machine: `mirrors/` and `loops/`. */
export interface FleetPlace {
  /** Absolute. */
  readonly dir: string;
  /** Environment that finds git and the folder of loop state outside projects; that of the process if absent. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface FleetRepository {
  /** 16 hexadecimal digits; names the mirror. */
  readonly id: string;
  readonly url: string;
}

export function environmentOf({ env = process.env }: FleetPlace): NodeJS.ProcessEnv {
  return env;
}

/**
 * Returns the place at an absolute path; null is `ralph-loop/fleet` in the user's data folder. Throws RalphError `usage`
 * for one in the folder of loop state: guardrails deny every write there, and the sandbox hides it.
 */
export function placeAt(given: string | null, env: NodeJS.ProcessEnv): FleetPlace {
  const { XDG_DATA_HOME: data } = env;
  const share = data && isAbsolute(data) ? data : join(homeOf(env), '.local', 'share');
  const dir = given ?? join(share, 'ralph-loop', 'fleet');
  const closed = outsideRoot(env);
  if (isWithin(realOf(closed), realOf(dir))) throw new RalphError('usage', GIT_TEXTS.closedPlace(dir, closed));
  return { dir };
}

/** Returns the real path; that of the nearest folder which exists decides for one that does not. */
function realOf(path: string): string {
  if (existsSync(path) || path === dirname(path)) return realpathSync(path);
  return join(realOf(dirname(path)), basename(path));
}

/** Returns the path of the machine's mirror of a repository. Throws RalphError `usage` for an invalid id. */
export function mirrorPath({ dir }: FleetPlace, id: string): string {
  if (!/^[0-9a-f]{16}$/.test(id)) throw new RalphError('usage', GIT_TEXTS.badRepositoryId(id));
  return join(dir, 'mirrors', `${id}.git`);
}

export const loopsDir = ({ dir }: FleetPlace): string => join(dir, 'loops');

const LOOP_ID = /^[a-zA-Z0-9](?:[a-zA-Z0-9_-]|\.(?!\.)){0,127}$/;

/** Throws RalphError `usage` for an id that cannot be part of a path and of a reference. */
export function checkLoopId(loopId: string): string {
  if (!LOOP_ID.test(loopId) || /\.(?:lock)?$/.test(loopId)) throw new RalphError('usage', GIT_TEXTS.badLoopId(loopId));
  return loopId;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Throws RalphError `usage` for what is no full object name. */
export function checkCommit(sha: string): string {
  if (!COMMIT.test(sha)) throw new RalphError('usage', GIT_TEXTS.badCommit(sha));
  return sha;
}

/** Throws RalphError `usage` for what git could take for an option, a pattern or several references. */
export function checkRef(ref: string): string {
  const isSound = /^refs\/[^\s~^:?*[\\]+$/.test(ref) && !/\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[/.]$/.test(ref);
  if (!isSound || [...ref].some((char) => char < ' ' || char === '\u007f'))
    throw new RalphError('usage', GIT_TEXTS.badRef(ref));
  return ref;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const SCHEMES = ['file', 'git', 'http', 'https', 'ssh'];

/**
 * Returns the address without password, token and query, so that it can be stored and shown. Throws RalphError `usage`
 * for an address by which git would run a program or read an option.
 */
export function plainUrl(url: string): string {
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase();
  const isSound = url !== '' && !url.startsWith('-') && !/^[a-z0-9+.-]+::/i.test(url);
  const isKnown = scheme === undefined || SCHEMES.includes(scheme);
  if (!isSound || !isKnown || [...url].some((char) => char < ' ')) throw new RalphError('usage', GIT_TEXTS.badUrl);
  if (scheme === undefined && !isAbsolute(url) && !/^[^/:]+:./.test(url))
    throw new RalphError('usage', GIT_TEXTS.badUrl);
  if (scheme === undefined || scheme === 'file') return url;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (error) {
    throw new RalphError('usage', GIT_TEXTS.badUrl, error);
  }
  // A name alone is an account for ssh, and may be a token for http.
  const user = scheme === 'ssh' && parsed.username !== '' ? `${parsed.username}@` : '';
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}`;
}
