import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { RalphError } from '../../text/message.ts';
import {
  type Around,
  commitIndex,
  fileAbove,
  git,
  indexPaths,
  isBelowFile,
  isFileAt,
  must,
  nulList,
  onDisk,
  type RecordedTree,
  recordPaths,
  refOf,
  repositoryAround,
  withFilesIndexed,
} from '../git/record-tree.ts';
import { isLoopsOwn } from '../left-out.ts';

/** Path from the top of the repository; each character is one byte of the name. */
type Path = string;

export interface LeftAlone {
  readonly path: Path;
  readonly why: 'changed-since' | 'users' | 'repository' | 'folder' | 'was-ignored';
}

export interface UndoPlan {
  readonly around: Around;
  readonly start: RecordedTree;
  /** Files that get the content of the start back. */
  readonly bring: readonly Path[];
  /** Files that are new since the start. */
  readonly added: readonly Path[];
  /** Files that get the content of the start back once new ones that are in their place are removed. */
  readonly behind: readonly Path[];
  readonly left: readonly LeftAlone[];
  /** Commits since the start, newest first, as `abbreviation subject`. */
  readonly commits: readonly string[];
}

type Env = NodeJS.ProcessEnv;

export interface UndoFacts {
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
  const { start, end, isLoops, sandbox } = facts;
  const around = await repositoryAround(projectDir, env, sandbox);
  if (around === null)
    throw new RalphError('refused', 'The project is not in a git repository, so nothing can be undone.');
  const commits = await commitsSince(around, facts);
  const { since, later } = await projectSince(around, start.commit, end?.commit ?? null);
  const ignored = await ignoredAtStart(around, start.commit, since);
  const blocked: Path[] = [];
  const bring: Path[] = [];
  const added: Path[] = [];
  const left: LeftAlone[] = [];
  for (const { path, was, is } of since) {
    if (isLoopsOwn(path.slice(Buffer.byteLength(around.prefix)))) continue;
    const isBelow = isBelowFile(around.top, path);
    const stat = isBelow ? undefined : lstatSync(onDisk(around.top, path), { throwIfNoEntry: false });
    if (was === GITLINK || is === GITLINK) left.push({ path, why: 'repository' });
    else if (later.has(path)) left.push({ path, why: 'changed-since' });
    else if (isBelow || stat?.isDirectory()) blocked.push(path);
    else if (stat && !isLoops(stat.mtimeMs) && !isLoops(stat.ctimeMs)) left.push({ path, why: 'users' });
    else if (was === null && ignored.has(path)) left.push({ path, why: 'was-ignored' });
    else (was === null ? added : bring).push(path);
  }
  const removable = new Set(added);
  const behind = blocked.filter((path) => isBehindNew(around.top, path, removable));
  const inTheWay = blocked.filter((path) => !behind.includes(path));
  return { around, start, bring, added, behind, left: [...left, ...inTheWay.map(inPlace)], commits };
}

const inPlace = (path: Path): LeftAlone => ({ path, why: 'folder' });

const IGNORE_RULES = /(?:^|\/)\.gitignore$/;

/**
 * Returns new files that the rules of the start ignore. The start did not record ignored files, so these may have been there: a
 * change of the rules shows them, or a commit that git was told to make in spite of them.
 */
async function ignoredAtStart(around: Around, start: string, since: readonly TreeChange[]): Promise<Set<Path>> {
  const added = since.filter(({ was }) => was === null).map(({ path }) => path);
  if (added.length === 0) return new Set();
  const { gitDir } = around;
  const folder = mkdtempSync(join(gitDir, 'ralph-rules-'));
  try {
    const names = must(await git(around, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', start])).split('\0');
    const rules = names.filter((path) => IGNORE_RULES.test(path));
    await putFiles(around, start, rules, folder);
    const words = [`--git-dir=${gitDir}`, `--work-tree=${folder}`, 'check-ignore', '--no-index', '-z', '--stdin'];
    return new Set((await git(around, words, { input: nulList(added), at: folder })).text.split('\0'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns whether the files that stand in the way of a path are all new: a link, or a file, or what its folder holds. */
function isBehindNew(top: string, path: Path, added: ReadonlySet<Path>): boolean {
  const above = fileAbove(top, path);
  return above === null ? filesBelow(top, path).every((one) => added.has(one)) : added.has(above);
}

function filesBelow(top: string, folder: Path): Path[] {
  const entries = readdirSync(onDisk(top, folder), { withFileTypes: true, encoding: 'latin1' });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(top, path) : [path];
  });
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
  const words = ['log', '--left-right', '--no-show-signature', '--format=%m%x09%H%x09%ct%x09%h %s'];
  const list = await git(around, [...words, `${start.head}...${head}`]);
  const lines = list.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
  if (!list.ok || lines.some(([side]) => side === '<')) {
    throw new RalphError('refused', `The history since the start was rewritten. Nothing was changed. ${advice}`);
  }
  const inLoop =
    end === null || end.head === head
      ? null
      : new Set((await git(around, ['rev-list', `${start.head}..${end.head}`])).text.split('\n'));
  // Git stores whole seconds.
  const others = lines.filter(
    ([, id = '', at = '']) =>
      inLoop?.has(id) === false || !(isLoops(Number(at) * 1000) || isLoops(Number(at) * 1000 + 999)),
  );
  if (others.length > 0) {
    const shown = others.map(([, , , text]) => text).join('; ');
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
  return lines.map(([, , , text = '']) => text);
}

interface TreeChange {
  readonly path: Path;
  /** Modes before and after; null if there is no file. */
  readonly was: string | null;
  readonly is: string | null;
}

const NONE = '000000';

/** Compares the project's files with their start, ignored ones of it included, and names those that differ from `end`. */
function projectSince(
  around: Around,
  start: string,
  end: string | null,
): Promise<{ readonly since: readonly TreeChange[]; readonly later: ReadonlySet<Path> }> {
  return withFilesIndexed(around, async (index) => {
    let since = await changesFrom(around, start, { index });
    const ignored = since.filter(({ path, is }) => is === null && isFileAt(around.top, path)).map(({ path }) => path);
    if (ignored.length > 0) {
      await indexPaths(around, index, ignored);
      since = await changesFrom(around, start, { index });
    }
    const later = end === null ? [] : await changesFrom(around, end, { index });
    return { since, later: new Set(later.map(({ path }) => path)) };
  });
}

/** Compares a commit with another one, or with an index, in the project's folder. */
async function changesFrom(
  around: Around,
  from: string,
  to: string | { readonly index: string },
): Promise<TreeChange[]> {
  const { prefix, top: at } = around;
  const only = prefix === '' ? [] : ['--', `:(literal)${prefix}`];
  const options = ['-r', '-z', '--no-renames', from];
  const answer =
    typeof to === 'string'
      ? await git(around, ['diff-tree', ...options, to, ...only], { at })
      : await git(around, ['diff-index', '--cached', ...options, ...only], { at, index: to.index });
  const fields = must(answer).split('\0');
  const changes: TreeChange[] = [];
  for (let field = 0; field + 1 < fields.length; field += 2) {
    const [was = '', is = ''] = (fields[field] ?? '').slice(1).split(' ');
    changes.push({ path: fields[field + 1] ?? '', was: was === NONE ? null : was, is: is === NONE ? null : is });
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
  /** Modes of the new files that it has removed. */
  readonly modes?: Readonly<Record<Path, number>>;
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
  const { around, start, commits } = plan;
  const { head, branch } = around;
  const added = removesNew ? plan.added : [];
  const bring = removesNew ? [...plan.bring, ...plan.behind] : plan.bring;
  const number = 1 + Math.max(0, ...(await undone(around, loopId)).map((one) => one.number));
  const paths = [...bring, ...added];
  const index = await commitIndex(around);
  const message = asciiJson({ head, index, branch, start, paths, modes: modesOf(around.top, added) });
  await recordPaths(around, paths, { index, ref: refOf(loopId, `undone-${number}`), message });
  removeFiles(around, added);
  await putFiles(around, start.commit, bring);
  if (commits.length > 0) await moveBranch(around, start.head, head);
  await putIndex(around, start.index, index);
}

/** Takes back the last undo. Returns files that were left alone, because they changed since. Throws `refused` if there is none. */
export async function undoBack(
  projectDir: string,
  env: Env,
  { loopId, sandbox }: Pick<UndoFacts, 'sandbox'> & { readonly loopId: string },
): Promise<LeftAlone[]> {
  const around = await repositoryAround(projectDir, env, sandbox);
  const undos = around === null ? [] : await undone(around, loopId);
  const last = undos.sort((one, other) => other.number - one.number)[0];
  if (around === null || last === undefined)
    throw new RalphError('refused', 'There is no undo that can be taken back.');
  const { ref, message } = last;
  const { start, paths, head, branch, index, modes = {} } = JSON.parse(message) as UndoRecord;
  if (around.branch !== branch || around.head !== start.head) {
    const text = 'Branch or commits changed since the undo. Nothing was changed. Its state before is kept as';
    throw new RalphError('refused', `${text} ${ref}.`);
  }
  const since = new Set((await projectSince(around, start.commit, null)).since.map(({ path }) => path));
  const before = new Map((await changesFrom(around, start.commit, ref)).map((change) => [change.path, change]));
  const untouched = paths.filter((path) => !since.has(path));
  removeFiles(
    around,
    untouched.filter((path) => before.get(path)?.is === null),
  );
  const returning = untouched.filter((path) => before.get(path)?.is !== null);
  await putFiles(around, ref, returning);
  for (const path of returning) keepPrivate(onDisk(around.top, path), modes[path] ?? 0o100777);
  if (head !== start.head) await moveBranch(around, head, start.head);
  await putIndex(around, index, start.index);
  must(await git(around, ['update-ref', '-d', ref]));
  return paths.filter((path) => since.has(path)).map((path) => ({ path, why: 'changed-since' }));
}

interface Undone {
  readonly number: number;
  readonly ref: string;
  readonly message: string;
}

async function undone(around: Around, loopId: string): Promise<Undone[]> {
  const words = ['for-each-ref', '--format=%(refname)%00%(contents)%00', `refs/ralph-loop/${loopId}/`];
  const fields = must(await git(around, words)).split('\0');
  return fields.flatMap((field, at) => {
    const [, number] = at % 2 === 0 ? (/\/undone-(\d+)$/.exec(field) ?? []) : [];
    return number === undefined ? [] : [{ number: Number(number), ref: field.trim(), message: fields[at + 1] ?? '' }];
  });
}

/** Gives the index the content that a commit has in the project's folder; leaves it if it was that commit's already. */
async function putIndex(around: Around, to: string | null, was: string | null): Promise<void> {
  if (to !== null && to !== was) await git(around, ['reset', '--quiet', to, '--', '.']);
}

/** Moves the branch, or a detached HEAD, alone: index and files stay, so that nothing outside the project's folder is lost. */
async function moveBranch(around: Around, to: string, from: string): Promise<void> {
  must(await git(around, ['update-ref', '-m', 'ralph-loop undo', 'HEAD', to, from]));
}

/** Writes files of a commit over those of a work tree. Replaces no folder and leaves the index. */
async function putFiles(around: Around, commit: string, paths: readonly Path[], at = around.top): Promise<void> {
  if (paths.length === 0) return;
  const words = ['restore', '--worktree', '--overlay', `--source=${commit}`];
  const listed = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  const index = join(around.gitDir, 'ralph-empty-index');
  const place = [`--git-dir=${around.gitDir}`, `--work-tree=${at}`, '--literal-pathspecs'];
  const modes = modesOf(at, paths);
  must(await git(around, [...place, ...words, ...listed], { index, input: nulList(paths), at }));
  for (const [path, mode] of Object.entries(modes)) keepPrivate(onDisk(at, path), mode);
}

/** Returns the modes of those of the files that are there. */
function modesOf(top: string, paths: readonly Path[]): Record<Path, number> {
  const there = paths.filter((path) => isFileAt(top, path));
  return Object.fromEntries(there.map((path) => [path, lstatSync(onDisk(top, path)).mode]));
}

/** Takes the rights from a file that its former one did not give, except to run it: git keeps no others. */
function keepPrivate(file: Buffer, former: number): void {
  const stat = lstatSync(file);
  const rights = stat.mode & ((former & 0o666) | ((former & 0o444) >> 2) | 0o700);
  if (stat.isFile() && (former & 0o170000) === 0o100000 && rights !== stat.mode) chmodSync(file, rights & 0o777);
}

/** Removes files, and folders that become empty. */
function removeFiles({ top, projectDir }: Around, paths: readonly Path[]): void {
  for (const path of paths) {
    if (isBelowFile(top, path)) continue;
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
