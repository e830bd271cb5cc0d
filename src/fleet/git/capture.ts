import { accessSync, constants, copyFileSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { uniqueToken } from '../../state/files/regular-file.ts';
import { nulList, onDisk, onScreen } from '../../task/git/record-tree.ts';
import { askGit, bytesOfGit, type GitCall, listed } from './git.ts';
import { RUNTIME } from './loop-state.ts';
import { agentCall, agentGit, agentIndex, ownCall, scratch, type Workspace } from './place.ts';

/** File that a checkpoint does not contain. Its version of the last commit, if any, takes its place. */
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
const WHAT = 'the work tree was read';

/** Writes trees of a work tree and its index to the worker's own objects. Changes neither. */
export async function capture(ws: Workspace): Promise<Captured> {
  const head = await headOf(ws);
  const files = await changedFiles(ws, head);
  const work = await treeOf(head, files, ws, (index) => ownCall(ws, index));
  return { head, work, ...(await indexTrees(ws, '0'.repeat(head.length))), leftOut: files.leftOut };
}

export function headOf(ws: Workspace): Promise<string> {
  return askGit(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], agentCall(ws), WHAT);
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
    await bytesOfGit(['diff-index', '--cached', ...plain, head], call, WHAT),
    await bytesOfGit(['diff-files', ...plain], call, WHAT),
    await bytesOfGit(['ls-files', '-z', '--others', '--exclude-standard', ...own], call, WHAT),
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
    await askGit(['read-tree', head], call(index), WHAT);
    await remove(call(index), gone, '0'.repeat(head.length));
    const words = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'];
    await askGit(words, { ...call(index), input: nulList(kept) }, WHAT);
    return askGit(['write-tree'], call(index), WHAT);
  });
}

/** Removes entries, including those of a conflict. */
async function remove(call: GitCall, paths: readonly string[], nothing: string): Promise<void> {
  const input = nulList(paths.map((path) => `0 ${nothing}\t${path}`));
  await askGit(['update-index', '-z', '--index-info'], { ...call, input }, WHAT);
}

/** Writes the index, and the three sides of every file in conflict, which no tree can hold at their path. */
async function indexTrees(ws: Workspace, nothing: string): Promise<Pick<Captured, 'index' | 'conflict'>> {
  return withIndex(ws, async (index) => {
    if (existsSync(agentIndex(ws))) copyFileSync(agentIndex(ws), index);
    else await askGit(['read-tree', '--empty'], ownCall(ws, index), WHAT);
    const entries = listed(await bytesOfGit(['ls-files', '--unmerged', '-z'], ownCall(ws, index), WHAT));
    const conflict = entries.length === 0 ? null : await conflictTree(ws, entries);
    const paths = new Set(entries.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
    await remove(ownCall(ws, index), [...paths], nothing);
    return { index: await askGit(['write-tree'], ownCall(ws, index), WHAT), conflict };
  });
}

/** Writes a tree of entries `MODE SHA STAGE<tab>PATH`, the format of `update-index --index-info`. */
async function conflictTree(ws: Workspace, entries: readonly string[]): Promise<string> {
  const call = ownCall(ws);
  const list = await askGit(
    ['hash-object', '-w', '--no-filters', '--stdin'],
    { ...call, input: nulList(entries) },
    WHAT,
  );
  const blobs = [
    ...new Set(entries.filter((entry) => !entry.startsWith('160000')).map((entry) => entry.split(' ')[1])),
  ];
  const lines = [
    ...blobs.map((sha, at) => `100644 blob ${sha}\tside-${at}\0`),
    `100644 blob ${list}\t${ENTRIES}\0`,
  ].join('');
  return askGit(['mktree', '-z'], { ...call, input: lines }, WHAT);
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
