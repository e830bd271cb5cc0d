import { accessSync, constants, copyFileSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readRegularFile, uniqueToken, writeAtomically } from '../../state/files/regular-file.ts';
import { nulList, onDisk, onScreen } from '../../task/git/record-tree.ts';
import { RalphError } from '../../text/message.ts';
import { GIT_TEXTS } from '../messages.ts';
import { askGit, bytesOfGit, type GitCall, git, listed } from './git.ts';
import { collectState, RUNTIME } from './loop-state.ts';
import { type PushOutcome, pushRef } from './mirror.ts';
import type { Workspace } from './place.ts';
import {
  agentCall,
  agentGit,
  agentIndex,
  assertOwnRepository,
  checkCommit,
  lastPath,
  ownCall,
  scratch,
} from './place.ts';

/** Name of a file in a checkpoint's `state/`. */
const META_FILE = 'fleet.json';

const count = z.int().min(0);

const checkpointMeta = z.object({
  v: z.literal(1),
  loopId: z.string().min(1).max(200),
  generation: count,
  attempt: count,
  iteration: count,
  takeOvers: count,
  /** True if its worker ended the claim itself; false while it works. */
  signedOff: z.boolean(),
  lastCommand: z.string().max(200).nullable(),
  contractDigest: z.string().max(200),
  spent: z.object({ costUsd: z.number().min(0).nullable(), tokens: z.number().min(0) }),
  /** End of the loop in this generation, with its reason; null while it continues. */
  outcome: z.string().max(100).nullable().default(null),
  reason: z.string().max(20_000).default(''),
  /** Signed submission, so that a loop can be queued again from its repository alone. */
  submission: z.unknown().optional(),
  at: z.iso.datetime(),
  leftOut: z
    .array(z.object({ path: z.string(), why: z.enum(['size', 'repository', 'unreadable', 'special']) }))
    .default([]),
});

export type CheckpointMeta = z.infer<typeof checkpointMeta>;
/** Description without the fields that `makeCheckpoint` fills in. */
export type Meta = Omit<CheckpointMeta, 'leftOut'>;

/** Reads a checkpoint's description from a git folder. Throws RalphError `state-corrupt` if it is invalid. */
export async function readCheckpoint(gitDir: string, sha: string, env: NodeJS.ProcessEnv): Promise<CheckpointMeta> {
  const invalid = (problem: string, cause?: unknown): RalphError =>
    new RalphError('state-corrupt', GIT_TEXTS.badCheckpoint(sha, problem), cause);
  const found = await git(['cat-file', 'blob', `${checkCommit(sha)}:state/${META_FILE}`], { env, gitDir });
  if (!found.ok) throw invalid(found.complaint);
  let value: unknown;
  try {
    value = JSON.parse(found.output.toString('utf8'));
  } catch (error) {
    throw invalid('its description is not valid JSON', error);
  }
  const parsed = checkpointMeta.safeParse(value);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error), parsed.error);
  return parsed.data;
}

const WHAT = 'the checkpoint was made';
const NAME = 'ralph-loop';
/** Maximum number of omitted files that a checkpoint lists. */
const MOST_LISTED = 1_000;

/**
 * Makes a commit with the files, the index and the loop's state, and returns its name. Its parents are the commit of the work
 * tree, so that the agent's own commits are included, and the last checkpoint from which this workspace was opened or which
 * it pushed. Files above 50 MiB and nested repositories are omitted and listed in it; ignored files are omitted. Does not
 * change the agent's work tree and index, and runs no program of the repository. No two commits have the same name. Throws
 * RalphError `refused` if the agent replaced its repository, `state-io` if git fails.
 */
export async function makeCheckpoint(ws: Workspace, meta: Meta): Promise<string> {
  assertOwnRepository(ws);
  const { head, work, index, conflict, leftOut } = await capture(ws);
  const described: CheckpointMeta = { ...meta, leftOut: leftOut.slice(0, MOST_LISTED) };
  const trees = [
    ['work', work],
    ['index', index],
    ['state', await stateTree(ws, described)],
    ...(conflict === null ? [] : [['conflict', conflict]]),
  ];
  const input = trees.map(([name, tree]) => `040000 tree ${tree}\t${name}\0`).join('');
  const tree = await askGit(['mktree', '-z'], { ...ownCall(ws), input }, WHAT);
  const last = readRegularFile(lastPath(ws), 100)?.trim() || null;
  const parents = [head, ...(last === null ? [] : [last])].flatMap((parent) => ['-p', parent]);
  // Makes the same checkpoint of two workers two commits; otherwise both would count as the pushed one.
  const message = `Checkpoint of the loop ${ws.loopId}, iteration ${meta.iteration}\n\nToken: ${uniqueToken()}-${crypto.randomUUID()}\n`;
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, NAME],
    [`GIT_${role}_EMAIL`, `${NAME}@localhost`],
    [`GIT_${role}_DATE`, meta.at],
  ]);
  const call = { ...ownCall(ws), input: message, more: Object.fromEntries(who) as Record<string, string> };
  return askGit(['commit-tree', tree, ...parents], call, WHAT);
}

async function stateTree(ws: Workspace, meta: CheckpointMeta): Promise<string> {
  const folder = join(scratch(ws), `state.${uniqueToken()}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    collectState(ws.dir, ws.env, folder);
    writeFileSync(join(folder, META_FILE), `${JSON.stringify(meta, null, 2)}\n`);
    return await withIndex(ws, async (index) => {
      const call = { ...ownCall(ws, index), workTree: folder };
      const files = await bytesOfGit(['ls-files', '-z', '--others'], call, WHAT);
      await askGit(['update-index', '-z', '--add', '--stdin'], { ...call, input: files }, WHAT);
      return askGit(['write-tree'], call, WHAT);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Moves the reference in the repository from `expected` (null: it does not exist) to the checkpoint, in one step. Of all
 * workers that expect the same, only one is `pushed`. After `unreachable`, push the same checkpoint again: if only the
 * answer was lost, the checkpoint is found there. Throws RalphError `usage`, without pushing anything, for a checkpoint that
 * does not continue `expected`. `tell` receives git's error, without credentials.
 */
export async function pushCheckpoint(
  ws: Workspace,
  ref: string,
  sha: string,
  expected: string | null,
  tell: (complaint: string) => void = () => undefined,
): Promise<PushOutcome> {
  checkCommit(sha);
  if (expected !== null) {
    const [, ...parents] = (await askGit(['rev-list', '--parents', '--max-count=1', sha], ownCall(ws), WHAT)).split(
      ' ',
    );
    if (!parents.includes(checkCommit(expected))) throw new RalphError('usage', GIT_TEXTS.notContinued(sha, expected));
  }
  const outcome = await pushRef(ws, ref, sha, expected, tell);
  if (outcome === 'pushed') writeAtomically(lastPath(ws), `${sha}\n`);
  return outcome;
}

/** File that a checkpoint does not contain. Its version in the last commit, if any, is used instead. */
interface LeftOut {
  readonly path: string;
  /** `repository`: a folder with its own git folder; `special`: for example a socket. */
  readonly why: 'size' | 'repository' | 'unreadable' | 'special';
}

interface Captured {
  readonly head: string;
  /** Trees of the current files, of the index, and of the blobs of a conflict (null without one). */
  readonly work: string;
  readonly index: string;
  readonly conflict: string | null;
  readonly leftOut: readonly LeftOut[];
}

/** Size limit: larger files would make every later fetch slow. */
const MOST_FILE_BYTES = 50 * 1024 * 1024;
/** Name of the list of a conflict's index entries, in their tree. */
export const ENTRIES = 'entries';
const READ = 'the work tree was read';

/** Writes the trees of a work tree and its index to the worker's own objects. Changes neither. */
async function capture(ws: Workspace): Promise<Captured> {
  const head = await headOf(ws);
  const files = await changedFiles(ws, head);
  const work = await treeOf(head, files, ws, (index) => ownCall(ws, index));
  return { head, work, ...(await indexTrees(ws, '0'.repeat(head.length))), leftOut: files.leftOut };
}

export function headOf(ws: Workspace): Promise<string> {
  return askGit(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], agentCall(ws), READ);
}

/** Differences from a commit. A path has one character for each of its bytes. */
interface ChangedFiles {
  readonly kept: readonly string[];
  readonly gone: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

/** Finds the differences from the commit, except the loop's runtime files. */
export async function changedFiles(ws: Workspace, head: string): Promise<ChangedFiles> {
  return sorted(ws, await changedPaths(ws, head));
}

/** Lists files that may differ from the commit: staged, changed, deleted and untracked ones, without ignored ones. */
async function changedPaths(ws: Workspace, head: string): Promise<Set<string>> {
  const call = ownCall(ws, agentIndex(ws));
  const exclude = join(agentGit(ws), 'info', 'exclude');
  const own = existsSync(exclude) ? [`--exclude-from=${exclude}`] : [];
  const plain = ['-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
  const found = [
    await bytesOfGit(['diff-index', '--cached', ...plain, head], call, READ),
    await bytesOfGit(['diff-files', ...plain], call, READ),
    await bytesOfGit(['ls-files', '-z', '--others', '--exclude-standard', ...own], call, READ),
  ];
  return new Set(found.flatMap(listed).filter((path) => !path.startsWith(RUNTIME)));
}

function sorted(ws: Workspace, paths: ReadonlySet<string>): ChangedFiles {
  const kept: string[] = [];
  const gone: string[] = [];
  const leftOut: LeftOut[] = [];
  const isFolder = folderCheck(ws);
  for (const path of paths) {
    const at = onDisk(ws.dir, path);
    const stat = isFolder(parentOf(path)) ? lstatSync(at, { throwIfNoEntry: false }) : undefined;
    const leave = (why: LeftOut['why']): void => void leftOut.push({ path: onScreen(path), why });
    if (path.endsWith('/')) leave('repository');
    else if (stat === undefined) gone.push(path);
    else if (stat.isDirectory()) {
      if (existsSync(Buffer.concat([at, Buffer.from('/.git')]))) leave('repository');
      else gone.push(path);
    } else if (stat.isSymbolicLink()) kept.push(path);
    else if (!stat.isFile()) leave('special');
    else if (stat.size > MOST_FILE_BYTES) leave('size');
    else if (!isReadable(at)) leave('unreadable');
    else kept.push(path);
  }
  return { kept, gone, leftOut };
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Returns a test for whether a path and all of its parents are folders: what is behind a link is elsewhere. */
function folderCheck(ws: Workspace): (path: string) => boolean {
  const known = new Map([['', true]]);
  const isFolder = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const found =
      isFolder(parentOf(path)) && lstatSync(onDisk(ws.dir, path), { throwIfNoEntry: false })?.isDirectory() === true;
    known.set(path, found);
    return found;
  };
  return isFolder;
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Writes the tree of a commit with these changes. The git folder of `call` provides the attributes that apply to them. */
export function treeOf(
  head: string,
  { kept, gone }: Pick<ChangedFiles, 'kept' | 'gone'>,
  ws: Workspace,
  call: (index: string) => GitCall,
): Promise<string> {
  return withIndex(ws, async (index) => {
    await askGit(['read-tree', head], call(index), READ);
    await remove(call(index), gone, '0'.repeat(head.length));
    const words = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'];
    await askGit(words, { ...call(index), input: nulList(kept) }, READ);
    return askGit(['write-tree'], call(index), READ);
  });
}

/** Removes entries, including those of a conflict. */
async function remove(call: GitCall, paths: readonly string[], nothing: string): Promise<void> {
  const input = nulList(paths.map((path) => `0 ${nothing}\t${path}`));
  await askGit(['update-index', '-z', '--index-info'], { ...call, input }, READ);
}

/** Writes the index, and the three sides of every file in conflict, which no tree can hold at its path. */
async function indexTrees(ws: Workspace, nothing: string): Promise<Pick<Captured, 'index' | 'conflict'>> {
  return withIndex(ws, async (index) => {
    if (existsSync(agentIndex(ws))) copyFileSync(agentIndex(ws), index);
    else await askGit(['read-tree', '--empty'], ownCall(ws, index), READ);
    const entries = listed(await bytesOfGit(['ls-files', '--unmerged', '-z'], ownCall(ws, index), READ));
    const conflict = entries.length === 0 ? null : await conflictTree(ws, entries);
    const paths = new Set(entries.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
    await remove(ownCall(ws, index), [...paths], nothing);
    return { index: await askGit(['write-tree'], ownCall(ws, index), READ), conflict };
  });
}

/** Writes a tree of entries `MODE SHA STAGE<tab>PATH`, the format of `update-index --index-info`. */
async function conflictTree(ws: Workspace, entries: readonly string[]): Promise<string> {
  const call = ownCall(ws);
  const list = await askGit(
    ['hash-object', '-w', '--no-filters', '--stdin'],
    { ...call, input: nulList(entries) },
    READ,
  );
  const blobs = [
    ...new Set(entries.filter((entry) => !entry.startsWith('160000')).map((entry) => entry.split(' ')[1])),
  ];
  const lines = [
    ...blobs.map((sha, at) => `100644 blob ${sha}\tside-${at}\0`),
    `100644 blob ${list}\t${ENTRIES}\0`,
  ].join('');
  return askGit(['mktree', '-z'], { ...call, input: lines }, READ);
}

/** Runs `work` with the path of a separate index. */
export async function withIndex<T>(ws: Workspace, work: (index: string) => Promise<T>): Promise<T> {
  const index = join(scratch(ws), `index.${uniqueToken()}`);
  try {
    return await work(index);
  } finally {
    for (const path of [index, `${index}.lock`]) rmSync(path, { force: true });
  }
}
