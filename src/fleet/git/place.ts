import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { isWithin } from '../../task/project-file.ts';
import { RalphError } from '../../text/message.ts';
import type { Submission } from '../job.ts';
import { GIT_TEXTS } from '../messages.ts';
import type { GitCall } from './git.ts';

/** Data folder of the workers of one machine: `mirrors/` and `loops/`. */
export interface FleetPlace {
  /** Absolute path. */
  readonly dir: string;
  /** Environment in which git and the outside folder of loop state are found; default: that of the process. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Its id is the name of the mirror. */
export type FleetRepository = Submission['repository'];

export function environmentOf({ env = process.env }: FleetPlace): NodeJS.ProcessEnv {
  return env;
}

/**
 * Returns the place at an absolute path; null is `ralph-loop/fleet` in the user's data folder. Throws RalphError `usage` for
 * a path in the folder of loop state, where guardrails deny every write and which the sandbox hides.
 */
export function placeAt(given: string | null, env: NodeJS.ProcessEnv): FleetPlace {
  const { XDG_DATA_HOME: data } = env;
  const share = data && isAbsolute(data) ? data : join(homeFolder(env), '.local', 'share');
  const dir = given ?? join(share, 'ralph-loop', 'fleet');
  const closed = outsideRoot(env);
  if (isWithin(realOf(closed), realOf(dir))) throw new RalphError('usage', GIT_TEXTS.closedPlace(dir, closed));
  return { dir };
}

/** Returns the real path; if it does not exist, based on its nearest existing folder. */
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

/** Returns the id. Throws RalphError `usage` if it cannot be part of a path and of a reference. */
export function checkLoopId(loopId: string): string {
  if (!LOOP_ID.test(loopId) || /\.(?:lock)?$/.test(loopId)) throw new RalphError('usage', GIT_TEXTS.badLoopId(loopId));
  return loopId;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Throws RalphError `usage` unless this is a full object name. */
export function checkCommit(sha: string): string {
  if (!COMMIT.test(sha)) throw new RalphError('usage', GIT_TEXTS.badCommit(sha));
  return sha;
}

/** Throws RalphError `usage` for a text that git could interpret as an option, a pattern or several references. */
export function checkRef(ref: string): string {
  const isSound = /^refs\/[^\s~^:?*[\\]+$/.test(ref) && !/\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[/.]$/.test(ref);
  if (!isSound || [...ref].some((char) => char < ' ' || char === '\u007f'))
    throw new RalphError('usage', GIT_TEXTS.badRef(ref));
  return ref;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const SCHEMES = ['file', 'git', 'http', 'https', 'ssh'];

/** Returns the address without secrets. Throws RalphError `usage` for an address that makes git run a program. */
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
  // A lone user name is an account for ssh, but may be a token for http.
  const user = scheme === 'ssh' && parsed.username !== '' ? `${parsed.username}@` : '';
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}`;
}

/** Folders of a loop on this machine, held by this process. */
export interface Workspace {
  /** Real path of the work tree, a repository of its own with a detached HEAD. */
  readonly dir: string;
  readonly loopId: string;
  /** Name of the branch under which its commits are published. */
  readonly branch: string;
  readonly mirror: string;
  /** Folder around the work tree, out of reach of an agent that is confined to the work tree. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the git folder of the agent's own repository. */
export const agentGit = ({ dir }: Pick<Workspace, 'dir'>): string => join(dir, '.git');
/** Returns the worker's own git folder for this workspace: the agent can change neither its settings nor its objects. */
export const ownGit = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'git');
/** Returns the folder for temporary files of one call. */
export const scratch = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'tmp');
/** Returns the file that names the last checkpoint from which this workspace was opened or which it pushed. */
export const lastPath = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'last');

/** Returns the call of git on the work tree with the worker's own git folder: contents byte for byte, and no program runs. */
export function ownCall(ws: Workspace, index?: string): GitCall {
  return { env: ws.env, gitDir: ownGit(ws), workTree: ws.dir, ...(index !== undefined && { index }) };
}

/** Returns the call of git on the work tree with the agent's own repository. */
export function agentCall(ws: Workspace): GitCall {
  return { env: ws.env, gitDir: agentGit(ws), workTree: ws.dir };
}

export const agentIndex = (ws: Workspace): string => join(agentGit(ws), 'index');

/** Throws RalphError `refused` if the agent replaced its git folder or borrows another repository's objects. */
export function assertOwnRepository(ws: Workspace): void {
  const git = agentGit(ws);
  for (const path of [ws.dir, git, join(git, 'objects'), join(git, 'refs')]) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new RalphError('refused', GIT_TEXTS.turned(path));
  }
  const alternates = join(git, 'objects', 'info', 'alternates');
  const isOurs = lstatSync(alternates, { throwIfNoEntry: false })?.isFile() === true;
  if (!isOurs || readRegularFile(alternates, 10_000) !== `${join(ws.mirror, 'objects')}\n`)
    throw new RalphError('refused', GIT_TEXTS.turned(alternates));
  for (const name of ['commondir', 'index', 'HEAD', 'info']) {
    const stat = lstatSync(join(git, name), { throwIfNoEntry: false });
    const isSound = name === 'commondir' ? stat === undefined : stat === undefined || !stat.isSymbolicLink();
    if (!isSound) throw new RalphError('refused', GIT_TEXTS.turned(join(git, name)));
  }
}
