import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { GitCall } from './git.ts';
import { GIT_TEXTS } from './messages.ts';

/** A loop's place of work on this machine, held by this process. */
export interface Workspace {
  /** The work tree, by its real path. It is a repository of its own, with a detached HEAD. */
  readonly dir: string;
  readonly loopId: string;
  /** Name of the branch that its commits are published as. */
  readonly branch: string;
  readonly mirror: string;
  /** Folder around the work tree, out of reach of an agent that is confined to that. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Git folder of the agent's own repository. */
export const agentGit = ({ dir }: Pick<Workspace, 'dir'>): string => join(dir, '.git');
/** The worker's own git folder for this workspace: the agent can change neither its settings nor its objects. */
export const ownGit = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'git');
/** Folder of files for the time of one call. */
export const scratch = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'tmp');
/** Names the last checkpoint that this workspace was opened from or pushed. */
export const lastPath = ({ home }: Pick<Workspace, 'home'>): string => join(home, 'last');

/** Calls git on the work tree with the worker's own git folder: contents byte for byte, and no program runs. */
export function ownCall(ws: Workspace, index?: string): GitCall {
  return { env: ws.env, gitDir: ownGit(ws), workTree: ws.dir, ...(index !== undefined && { index }) };
}

export const agentIndex = (ws: Workspace): string => join(agentGit(ws), 'index');

export function lastCheckpoint(ws: Workspace): string | null {
  return readRegularFile(lastPath(ws), 100)?.trim() || null;
}

/**
 * Throws RalphError `refused` if the agent put something else in the place of its git folder, or borrows objects that are
 * not of this repository: they would be read with the rights of the worker and published.
 */
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
