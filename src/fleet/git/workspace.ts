import { existsSync, mkdirSync, readdirSync, realpathSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { uniqueToken, writeAtomically } from '../../state/files/regular-file.ts';
import { type Hold, takeHold } from '../../state/lock/hold.ts';
import { isHeld } from '../../state/lock/owner.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { nulList, onDisk } from '../../task/git/record-tree.ts';
import { RalphError } from '../../text/message.ts';
import type { Submission } from '../job.ts';
import { GIT_TEXTS } from '../messages.ts';
import { ENTRIES, readCheckpoint, withIndex } from './checkpoint.ts';
import { askGit, bytesOfGit, type GitCall, git, listed } from './git.ts';
import { restoreState } from './loop-state.ts';
import { fetchMirror, hasCommit } from './mirror.ts';
import type { FleetPlace, Workspace } from './place.ts';
import {
  agentCall,
  agentGit,
  checkCommit,
  checkLoopId,
  environmentOf,
  lastPath,
  loopsDir,
  mirrorPath,
  ownCall,
  ownGit,
  scratch,
} from './place.ts';

export type { Workspace };

export interface WorkspaceRequest extends Readonly<Pick<Submission, 'repository' | 'loopId' | 'branch'>> {
  /** Commit from which a loop without a checkpoint begins. */
  readonly base: { readonly sha: string };
  readonly checkpoint: string | null;
  /** Called with the submitted work tree, before the checkpoint's files are restored in it. */
  readonly atBase?: (dir: string) => void;
}

/** Returns the reference of a loop's checkpoints in the repository. */
const checkpointRef = (loopId: string): string => `refs/ralph/${checkLoopId(loopId)}`;

const holds = new Map<string, Hold>();
const NAMES = 'workspace.json';

/**
 * Creates a work tree with a branch's commits and, if there is a checkpoint, its files and loop state; the loop's project
 * is the root of the repository. Leaves a folder whose holder is alive unchanged, because a frozen worker may still write
 * there. Removes the remains of a dead worker. Throws RalphError, leaving nothing behind: `refused` for a missing commit,
 * `state-corrupt` for an invalid checkpoint, `state-io` if git fails.
 */
export async function openWorkspace(place: FleetPlace, request: WorkspaceRequest): Promise<Workspace> {
  const { repository, loopId, branch, base, checkpoint, atBase } = request;
  const [env, start] = [environmentOf(place), checkCommit(checkpoint ?? base.sha)];
  checkLoopId(loopId);
  const mirror = mirrorPath(place, repository.id);
  if (!(await hasCommit(mirror, start, env))) await fetchStart(place, request, start);
  if (checkpoint !== null) {
    const meta = await readCheckpoint(mirror, checkpoint, env);
    if (meta.loopId !== loopId) throw new RalphError('state-corrupt', GIT_TEXTS.otherLoop(checkpoint, meta.loopId));
  }
  const { home, hold } = freeFolder(place, loopId);
  try {
    for (const path of [home, join(home, 'work'), join(home, 'tmp')]) mkdirSync(path, { mode: 0o700 });
    const dir = realpathSync(join(home, 'work'));
    const ws: Workspace = { dir, loopId, branch, mirror, home, env };
    await makeRepositories(ws);
    if (atBase !== undefined) {
      await checkOut(ws, base.sha);
      atBase(dir);
    }
    await checkOut(ws, checkpoint === null ? start : `${start}^1`);
    if (checkpoint !== null) await fillFrom(ws, checkpoint);
    writeAtomically(join(home, NAMES), JSON.stringify({ loopId, branch, mirror }));
    holds.set(home, hold);
    return ws;
  } catch (error) {
    clearFolder(home, env);
    hold.release();
    throw error;
  }
}

async function fetchStart(place: FleetPlace, { repository, loopId, checkpoint }: WorkspaceRequest, start: string) {
  const refs = checkpoint === null ? [] : [checkpointRef(loopId)];
  const mirror = await fetchMirror(place, repository, refs);
  if (await hasCommit(mirror, start, environmentOf(place))) return;
  throw new RalphError('refused', checkpoint === null ? GIT_TEXTS.noCommit(start) : GIT_TEXTS.noCheckpoint(start));
}

/** Takes the first free folder of the loop. Removes a dead worker's, whose git may still write to its path. */
function freeFolder(place: FleetPlace, loopId: string): { readonly home: string; readonly hold: Hold } {
  mkdirSync(loopsDir(place), { recursive: true, mode: 0o700 });
  for (let copy = 1; ; copy += 1) {
    const home = join(loopsDir(place), copy === 1 ? loopId : `${loopId}~${copy}`);
    const hold = takeHold(`${home}.holder`);
    if (hold === null) continue;
    if (!existsSync(home)) return { home, hold };
    try {
      clearFolder(home, environmentOf(place));
    } finally {
      hold.release();
    }
  }
}

/** Removes a work tree and its loop's state outside. */
function clearFolder(home: string, env: NodeJS.ProcessEnv): void {
  const work = join(home, 'work');
  // The folder outside is derived from the real path of the work tree, which therefore must exist.
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const gone = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 } as const;
  rmSync(loopFiles(work, null, env).outsideDir, gone);
  rmSync(home, gone);
}

/** Creates the agent's repository on the mirror's objects, and the worker's own on both, with every file as bytes. */
async function makeRepositories(ws: Workspace): Promise<void> {
  const { env, dir, mirror } = ws;
  const what = 'the work tree was made';
  const [agent, own] = [agentGit(ws), ownGit(ws)];
  const format = await askGit(['rev-parse', '--show-object-format'], { env, gitDir: mirror }, what);
  const init = ['init', '--quiet', '--template=', `--object-format=${format}`];
  const url = await askGit(['config', '--get', 'remote.origin.url'], { env, gitDir: mirror }, what);
  const origin: readonly (readonly [string, string])[] = [
    ['remote.origin.url', url],
    ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
  ];
  await askGit([...init, dir], { env, cwd: dir }, what);
  await askGit([...init, '--bare', own], { env, cwd: ws.home }, what);
  const call: GitCall = { env, gitDir: agent, workTree: dir };
  for (const [key, value] of origin) await askGit(['config', key, value], call, what);
  await askGit(['config', 'remote.origin.url', url], { env, gitDir: own }, what);
  const objects = [join(mirror, 'objects'), join(agent, 'objects')];
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  write(join(agent, 'objects', 'info', 'alternates'), `${objects[0]}\n`);
  write(join(own, 'objects', 'info', 'alternates'), `${objects.join('\n')}\n`);
  write(join(own, 'info', 'attributes'), '* -text -ident -filter !working-tree-encoding\n');
  const refs = await askGit(
    ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/tags'],
    { env, gitDir: mirror },
    what,
  );
  write(join(agent, 'packed-refs'), `${refs.replace(/ refs\/heads\//g, ' refs/remotes/origin/')}\n`);
}

async function checkOut(ws: Workspace, commit: string): Promise<void> {
  await askGit(['checkout', '--quiet', '--detach', '--force', commit], agentCall(ws), 'the work tree was filled');
}

async function fillFrom(ws: Workspace, checkpoint: string): Promise<void> {
  await restoreWork(ws, checkpoint);
  const folder = join(scratch(ws), `state.${uniqueToken()}`);
  mkdirSync(folder);
  await extractState(ws, checkpoint, folder);
  restoreState(folder, ws.dir, ws.env);
  rmSync(folder, { recursive: true, force: true });
  writeAtomically(lastPath(ws), `${checkpoint}\n`);
}

/** Removes the work tree and the loop's state outside, unless another live process holds it. Ignores missing files. */
export function closeWorkspace(ws: Pick<Workspace, 'home' | 'env'>): void {
  const hold = holds.get(ws.home) ?? takeHold(`${ws.home}.holder`);
  if (hold === null) return;
  holds.delete(ws.home);
  try {
    if (hold.isOurs()) clearFolder(ws.home, ws.env);
  } finally {
    hold.release();
  }
}

/** Lists the workspaces without a live holder, for `closeWorkspace`, including incomplete ones. */
export function staleWorkspaces(place: FleetPlace): Pick<Workspace, 'home' | 'env'>[] {
  const env = environmentOf(place);
  if (!existsSync(loopsDir(place))) return [];
  const folders = readdirSync(loopsDir(place), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  // Leases are folders too, and so are locks on a file system without hard links.
  const homes = folders.flatMap(({ name }) => (name.includes('.holder.') ? [] : [join(loopsDir(place), name)]));
  return homes.filter((home) => !isHeld(`${home}.holder`)).map((home) => ({ home, env }));
}

const WHAT = 'the checkpoint was put back';
const LINK_TO_REPOSITORY = '160000';

/**
 * Changes a clean work tree of a checkpoint's first parent to the checkpoint's files and index. git writes every file and
 * refuses names that lead out of the work tree, through a link or into a git folder.
 */
async function restoreWork(ws: Workspace, checkpoint: string): Promise<void> {
  const call = ownCall(ws);
  const raw = ['diff-tree', '-r', '-z', '--raw', '--no-renames', `${checkpoint}^1`, `${checkpoint}:work`];
  const { gone, changed } = differences(listed(await bytesOfGit(raw, call, WHAT)));
  for (const path of gone) removeFile(ws, path);
  await withIndex(ws, async (index) => {
    await askGit(['read-tree', `${checkpoint}:work`], ownCall(ws, index), WHAT);
    const input = nulList(changed);
    await askGit(['checkout-index', '--force', '-z', '--stdin'], { ...ownCall(ws, index), input }, WHAT);
  });
  await restoreIndex(ws, checkpoint);
}

/** Parses `:MODE MODE SHA SHA STATUS`, NUL, path. A link to another repository has no files to restore. */
function differences(parts: readonly string[]): { readonly gone: string[]; readonly changed: string[] } {
  const gone: string[] = [];
  const changed: string[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [before = '', after = '', , , status = ''] = (parts[at] ?? '').slice(1).split(' ');
    const path = parts[at + 1] ?? '';
    if (status.startsWith('D')) {
      if (before !== LINK_TO_REPOSITORY) gone.push(path);
    } else if (after !== LINK_TO_REPOSITORY) changed.push(path);
  }
  return { gone, changed };
}

/** Removes a file that git has just checked out, and folders that become empty, as git does. */
function removeFile(ws: Workspace, path: string): void {
  rmSync(onDisk(ws.dir, path), { force: true });
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    try {
      rmdirSync(onDisk(ws.dir, path.slice(0, end)));
    } catch {
      return; // not empty
    }
  }
}

/** Restores the index, with the sides of conflicts. Keeps the stat data of unchanged files, which git need not read. */
async function restoreIndex(ws: Workspace, checkpoint: string): Promise<void> {
  const call = agentCall(ws);
  await askGit(['read-tree', '-i', '-m', `${checkpoint}:index`], call, WHAT);
  const conflict = await git(['cat-file', 'blob', `${checkpoint}:conflict/${ENTRIES}`], ownCall(ws));
  if (conflict.ok) await askGit(['update-index', '-z', '--index-info'], { ...call, input: conflict.output }, WHAT);
  // Fails if files differ, which is allowed.
  await git(['update-index', '-q', '--refresh'], call);
}

/** Writes the files of a checkpoint's `state/` to an empty folder. */
async function extractState(ws: Workspace, checkpoint: string, to: string): Promise<void> {
  await withIndex(ws, async (index) => {
    const call = { ...ownCall(ws, index), workTree: to };
    await askGit(['read-tree', `${checkpoint}:state`], call, WHAT);
    await askGit(['checkout-index', '--all', '--force'], call, WHAT);
  });
}
