import { lstatSync, mkdtempSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { RalphError } from '../../text/message.ts';
import {
  type Around,
  git,
  must,
  onDisk,
  type RecordedTree,
  recordTree,
  refOf,
  repositoryAround,
} from '../git/record-tree.ts';
import { isLoopsOwn } from '../progress/left-out.ts';

/** Path from the top of the repository; each character is one byte of the name. */
type Path = string;

export interface LeftAlone {
  readonly path: Path;
  readonly why: 'changed-since' | 'users' | 'repository' | 'folder';
}

export interface UndoPlan {
  readonly around: Around;
  readonly start: RecordedTree;
  /** Files that get the content of the start back. */
  readonly bring: readonly Path[];
  /** Files that are new since the start. */
  readonly added: readonly Path[];
  readonly left: readonly LeftAlone[];
  /** Commits since the start, newest first, as `abbreviation subject`. */
  readonly commits: readonly string[];
}

type Env = NodeJS.ProcessEnv;

export interface UndoFacts {
  readonly loopId: string;
  /** Sandbox of the loop, in which its git ran as well. */
  readonly sandbox: Sandbox | undefined;
  readonly start: RecordedTree;
  /** Commit of the files at the end of the loop; null if it is unknown. */
  readonly end: RecordedTree | null;
  /** Returns whether a change at this time (epoch milliseconds) can have been made by the loop. */
  readonly isLoops: (at: number) => boolean;
}

const GITLINK = '160000';
const ADVICE = 'Bring single files back: git restore --source';

/** Compares the project with its start. Throws `refused` if branch or commits are not as the loop has left them. */
export async function planUndo(projectDir: string, env: Env, facts: UndoFacts): Promise<UndoPlan> {
  const { loopId, start, end, isLoops, sandbox } = facts;
  const around = await repositoryAround(projectDir, env, sandbox);
  if (around === null)
    throw new RalphError('refused', 'The project is not in a git repository, so nothing can be undone.');
  const commits = await commitsSince(around, facts);
  const before = await changesBetween(around, start.commit, null);
  const known = await recordTree(
    around,
    refOf(loopId, 'now'),
    'Before an undo',
    before.map(({ path }) => path),
  );
  const later = new Set(
    end === null ? [] : (await changesBetween(around, end.commit, known.commit)).map(({ path }) => path),
  );
  const bring: Path[] = [];
  const added: Path[] = [];
  const left: LeftAlone[] = [];
  for (const { path, was, is } of await changesBetween(around, start.commit, known.commit)) {
    if (isLoopsOwn(path.slice(Buffer.byteLength(around.prefix)))) continue;
    const stat = lstatSync(onDisk(around.top, path), { throwIfNoEntry: false });
    if (was === GITLINK || is === GITLINK) left.push({ path, why: 'repository' });
    else if (later.has(path)) left.push({ path, why: 'changed-since' });
    else if (stat?.isDirectory() || isBelowFile(around.top, path)) left.push({ path, why: 'folder' });
    else if (stat && !isLoops(stat.mtimeMs) && !isLoops(stat.ctimeMs)) left.push({ path, why: 'users' });
    else (was === null ? added : bring).push(path);
  }
  return { around, start, bring, added, left, commits };
}

/** Returns whether a file or a link is where a folder of the path was. */
function isBelowFile(top: string, path: Path): boolean {
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
    const stat = lstatSync(onDisk(top, path.slice(0, end)), { throwIfNoEntry: false });
    if (stat === undefined) return false;
    if (!stat.isDirectory()) return true;
  }
  return false;
}

/** Returns the commits since the start. Throws `refused` unless all are the loop's own, unpushed, and on its branch. */
async function commitsSince(around: Around, { start, end, isLoops }: UndoFacts): Promise<string[]> {
  const { head, branch } = around;
  const where = (name: string | null): string => name?.replace('refs/heads/', '') ?? 'a detached HEAD';
  const advice = `${ADVICE}=${start.commit.slice(0, 12)} -- PATH`;
  if (branch !== start.branch) {
    const text = `The loop started on ${where(start.branch)}, and ${where(branch)} is checked out. Nothing was changed. ${advice}`;
    throw new RalphError('refused', text);
  }
  if (head === start.head) return [];
  const list = await git(around, ['log', '--format=%H%x09%ct%x09%h %s', `${start.head}..${head}`]);
  const back = await git(around, ['merge-base', '--is-ancestor', start.head, head]);
  const lines = list.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
  if (!list.ok || !back.ok) {
    throw new RalphError('refused', `The history since the start was rewritten. Nothing was changed. ${advice}`);
  }
  const inLoop =
    end === null ? null : new Set((await git(around, ['rev-list', `${start.head}..${end.head}`])).text.split('\n'));
  // Git stores whole seconds.
  const others = lines.filter(
    ([id = '', at = '']) =>
      inLoop?.has(id) === false || !(isLoops(Number(at) * 1000) || isLoops(Number(at) * 1000 + 999)),
  );
  if (others.length > 0) {
    const shown = others.map(([, , text]) => text).join('; ');
    throw new RalphError(
      'refused',
      `These commits since the start are not the loop's: ${shown}. Nothing was changed. ${advice}`,
    );
  }
  const unpushed = await git(around, ['rev-list', '--count', `${start.head}..${head}`, '--not', '--remotes']);
  if (Number(unpushed.text) !== lines.length) {
    throw new RalphError(
      'refused',
      `Commits since the start were pushed. Nothing was changed. Undo them with git revert. ${advice}`,
    );
  }
  return lines.map(([, , text = '']) => text);
}

interface TreeChange {
  readonly path: Path;
  /** Modes before and after; null if there is no file. */
  readonly was: string | null;
  readonly is: string | null;
}

const NONE = '000000';

/** Compares two commits in the project's folder; `to` null is the work tree with its present index. */
async function changesBetween(around: Around, from: string, to: string | null): Promise<TreeChange[]> {
  const { prefix } = around;
  const only = prefix === '' ? [] : ['--', `:(literal)${prefix}`];
  const options = ['-r', '-z', '--no-renames', '--ignore-submodules=dirty'];
  const words = to === null ? ['diff-index', ...options, from, ...only] : ['diff-tree', ...options, from, to, ...only];
  const fields = must(await git(around, words, { at: around.top })).split('\0');
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [was = '', is = ''] = (fields[at] ?? '').slice(1).split(' ');
    changes.push({ path: fields[at + 1] ?? '', was: was === NONE ? null : was, is: is === NONE ? null : is });
  }
  return changes;
}

/** What an undo has done, in the message of the commit that keeps the state before it. */
interface UndoRecord {
  readonly head: string;
  readonly index: string | null;
  readonly branch: string | null;
  readonly start: RecordedTree;
  readonly paths: readonly Path[];
}

/** Returns JSON that no setting for the encoding of messages changes. */
function asciiJson(record: UndoRecord): string {
  return JSON.stringify(record).replace(
    /[\u0080-\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Undoes the planned changes; first records the present state, so that `undoBack` returns to it. */
export async function applyUndo(plan: UndoPlan, loopId: string, removesNew: boolean): Promise<void> {
  const { around, start, bring, commits } = plan;
  const { head, branch } = around;
  const added = removesNew ? plan.added : [];
  const number = 1 + Math.max(0, ...(await undone(around, loopId)));
  const paths = [...bring, ...added];
  const index = await git(around, ['rev-parse', '--verify', '--quiet', `${refOf(loopId, 'now')}^2`]);
  const record: UndoRecord = { head, index: index.ok ? index.text.trim() : null, branch, start, paths };
  await recordTree(around, refOf(loopId, `undone-${number}`), asciiJson(record), paths);
  await putFiles(around, start.commit, bring);
  removeFiles(around, added);
  if (commits.length > 0 && branch !== null) await moveBranch(around, branch, start.head, head);
  if (start.index !== null) await git(around, ['reset', '--quiet', start.index, '--', '.']);
}

/** Takes back the last undo. Returns files that were left alone, because they changed since. Throws `refused` if there is none. */
export async function undoBack(
  projectDir: string,
  env: Env,
  { loopId, sandbox }: Pick<UndoFacts, 'loopId' | 'sandbox'>,
): Promise<LeftAlone[]> {
  const around = await repositoryAround(projectDir, env, sandbox);
  const numbers = around === null ? [] : await undone(around, loopId);
  if (around === null || numbers.length === 0)
    throw new RalphError('refused', 'There is no undo that can be taken back.');
  const ref = refOf(loopId, `undone-${Math.max(...numbers)}`);
  const record = JSON.parse(must(await git(around, ['log', '-1', '--format=%B', ref]))) as UndoRecord;
  const { start, paths, head, branch } = record;
  if (around.branch !== branch || around.head !== (head === start.head ? head : start.head)) {
    const text = 'Branch or commits changed since the undo. Nothing was changed. Its state before is kept as';
    throw new RalphError('refused', `${text} ${ref}.`);
  }
  const now = await recordTree(around, refOf(loopId, 'now'), 'Before the way back', paths);
  const since = new Set((await changesBetween(around, start.commit, now.commit)).map(({ path }) => path));
  const before = new Map((await changesBetween(around, start.commit, ref)).map((change) => [change.path, change]));
  const untouched = paths.filter((path) => !since.has(path));
  await putFiles(
    around,
    ref,
    untouched.filter((path) => before.get(path)?.is !== null),
  );
  removeFiles(
    around,
    untouched.filter((path) => before.get(path)?.is === null),
  );
  if (head !== start.head && branch !== null) await moveBranch(around, branch, head, start.head);
  if (record.index !== null) await git(around, ['reset', '--quiet', record.index, '--', '.']);
  must(await git(around, ['update-ref', '-d', ref]));
  return paths.filter((path) => since.has(path)).map((path) => ({ path, why: 'changed-since' }));
}

async function undone(around: Around, loopId: string): Promise<number[]> {
  const words = ['for-each-ref', '--format=%(refname)', `refs/ralph-loop/${loopId}/`];
  const names = (await git(around, words)).text.split('\n');
  return names.flatMap((name) => {
    const [, number] = /\/undone-(\d+)$/.exec(name) ?? [];
    return number === undefined ? [] : [Number(number)];
  });
}

/** Moves the branch alone: index and files stay, so that nothing outside the project's folder is lost. */
async function moveBranch(around: Around, branch: string, to: string, from: string): Promise<void> {
  must(await git(around, ['update-ref', '-m', 'ralph-loop undo', branch, to, from]));
}

/** Writes the files of a commit over those of the work tree. Replaces no folder. */
async function putFiles(around: Around, commit: string, paths: readonly Path[]): Promise<void> {
  if (paths.length === 0) return;
  const folder = mkdtempSync(join(around.gitDir, 'ralph-index-'));
  try {
    const index = join(folder, 'index');
    must(await git(around, ['read-tree', commit], { index }));
    const input = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');
    must(await git(around, ['checkout-index', '--force', '-z', '--stdin'], { index, input, at: around.top }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes files, and folders that become empty. */
function removeFiles({ top, projectDir }: Around, paths: readonly Path[]): void {
  for (const path of paths) {
    const file = onDisk(top, path).toString();
    const stat = lstatSync(onDisk(top, path), { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) continue;
    unlinkSync(onDisk(top, path));
    for (let at = dirname(file); at.startsWith(`${projectDir}/`); at = dirname(at)) {
      try {
        rmdirSync(at);
      } catch (error) {
        if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) break;
        throw error;
      }
    }
  }
}
