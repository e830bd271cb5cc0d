import { lstatSync, lutimesSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { readRegularFile, removeIfThere } from '../../state/files/regular-file.ts';
import { advise, RalphError } from '../../text/message.ts';
import { escaped, quoted } from '../../text/quote.ts';
import { unfinishedIn } from '../git/read-repository.ts';
import type { Around, RecordedTree, TreeChange } from '../git/record-tree.ts';
import {
  changedRepositories,
  changesFrom,
  commitIndex,
  fileAbove,
  git,
  indexPaths,
  isBelowFile,
  isFileAt,
  must,
  nulList,
  onDisk,
  recordPaths,
  refOf,
  repositoryAround,
  withFilesIndexed,
} from '../git/record-tree.ts';
import { workFolder } from '../git/run-git.ts';
import { gitIn } from '../git/start-point.ts';
import { isLoopsOwn } from '../left-out.ts';
import { convertsLineEnds, keepPrivate, modesOf, putFiles, refuseFullDisk, removeFiles, timesOf } from './put-files.ts';
import type { WorkTimes } from './work-times.ts';

/** Path from the top of the repository; each character is one byte of the name. */
type Path = string;

export interface LeftAlone {
  readonly path: Path;
  readonly why: 'changed-since' | 'users' | 'repository' | 'folder' | 'was-ignored';
}

export interface UndoPlan {
  readonly around: Around;
  readonly start: RecordedTree;
  /** Commit of the files at the end of the loop; null if unknown. */
  readonly end: RecordedTree | null;
  /** Files whose content at the start is restored. */
  readonly bring: readonly Path[];
  /** Files that are new since the start. */
  readonly added: readonly Path[];
  /** Files whose content at the start is restored once new files in their place are removed. */
  readonly behind: readonly Path[];
  readonly left: readonly LeftAlone[];
  /** Commits since the start, newest first, as `abbreviation subject`. */
  readonly commits: readonly string[];
  readonly convertsLineEnds: boolean;
}

type Env = NodeJS.ProcessEnv;

export interface UndoFacts {
  /** Sandbox of the loop, in which its git ran as well. */
  readonly sandbox: Sandbox | undefined;
  readonly start: RecordedTree;
  /** Commit of the files at the end of the loop; null if it is unknown. */
  readonly end: RecordedTree | null;
  /** Returns whether a change at this time (epoch milliseconds) can have been made by the loop. */
  readonly isLoops: WorkTimes['isLoops'];
  readonly lastWork: WorkTimes['lastWork'];
  /** When the loop started, in epoch milliseconds. */
  readonly startedAt: number;
  readonly freeBytes: (folder: string) => number;
  /** git's rules for ignored files at the start, besides those in its commit, in order of rising precedence. */
  readonly ignores?: readonly string[];
}

const GITLINK = '160000';

/** Compares the project with its start. Throws `refused` if branch or commits are not as the loop left them. */
export async function planUndo(projectDir: string, env: Env, facts: UndoFacts): Promise<UndoPlan> {
  const { start, end, isLoops, sandbox, startedAt } = facts;
  const around = await repositoryAround(projectDir, env, sandbox);
  if (around === null)
    throw new RalphError('refused', 'The project is not in a git repository, so nothing can be undone.');
  refuseUnfinished(around, startedAt);
  const commits = await commitsSince(around, facts);
  const { since, later, repositories } = await projectSince(around, start.commit, end?.commit ?? null);
  const ignored = await ignoredAtStart(around, facts, since);
  const blocked: Path[] = [];
  const bring: Path[] = [];
  const added: Path[] = [];
  const old: TreeChange[] = [];
  const left: LeftAlone[] = repositories.map((path) => ({ path, why: 'repository' }));
  for (const change of since) {
    const { path, was, is } = change;
    if (isLoopsOwn(path.slice(Buffer.byteLength(around.prefix)))) continue;
    const isBelow = isBelowFile(around.top, path);
    const stat = isBelow ? undefined : lstatSync(onDisk(around.top, path), { throwIfNoEntry: false });
    if (was === GITLINK || is === GITLINK) left.push({ path, why: 'repository' });
    else if (later.has(path)) left.push({ path, why: 'changed-since' });
    else if (isBelow || stat?.isDirectory()) blocked.push(path);
    else if (stat && !isLoops(stat.mtimeMs) && !isLoops(stat.ctimeMs)) {
      if (was === null && Math.max(stat.mtimeMs, stat.ctimeMs) < startedAt && !ignored.has(path)) old.push(change);
      else left.push({ path, why: 'users' });
    } else if (was === null && ignored.has(path)) left.push({ path, why: 'was-ignored' });
    else (was === null ? added : bring).push(path);
  }
  const removable = new Set(added);
  const [behind, kept]: [Path[], Path[]] = [[], []];
  for (const path of blocked) (isBehindNew(around.top, path, removable) ? behind : kept).push(path);
  // A moved folder takes its files along with their names and times. If their former versions are restored, nothing is lost.
  const back = new Set(bring);
  const gone = since.filter(({ path, is }) => is === null && back.has(path));
  const moved = new Set(gone.map(({ path, former }) => `${former} ${posix.basename(path)}`));
  for (const { path, present } of old) {
    if (end !== null && moved.has(`${present} ${posix.basename(path)}`)) added.push(path);
    else left.push({ path, why: 'users' });
  }
  for (const path of kept) left.push({ path, why: 'folder' });
  const converts = await convertsLineEnds(around, [...bring, ...behind]);
  return { around, start, end, bring, added, behind, left, commits, convertsLineEnds: converts };
}

/** Throws `refused` for a merge or the like that began since the start: its next commit would record the undone work as merged. */
function refuseUnfinished({ gitDir, projectDir }: Around, startedAt: number): void {
  const begun = unfinishedIn(gitDir);
  if (begun === null || begun.begunAt < startedAt) return;
  const { command } = begun;
  const text = `A git ${command} that began since the start of the loop is not finished. Nothing was changed.`;
  // A reset checks out another commit, so it does not keep the files.
  const [ends, how] = command === 'bisect' ? ['To end it', 'reset'] : ['To end it and keep all files', '--quit'];
  throw new RalphError('refused', `${text} ${ends}: ${gitIn(projectDir)} ${command} ${how}.`);
}

const IGNORE_RULES = /(?:^|\/)\.gitignore$/;

/**
 * Returns new files that were ignored by the rules of the start. The start did not record ignored files, so these may have
 * existed: a changed rule reveals them, or a commit that was forced to include them.
 */
async function ignoredAtStart(around: Around, facts: UndoFacts, since: readonly TreeChange[]): Promise<Set<Path>> {
  const { commit } = facts.start;
  const added = since.filter(({ was }) => was === null).map(({ path }) => path);
  if (added.length === 0) return new Set();
  const { gitDir } = around;
  const folder = workFolder(gitDir, 'rules');
  try {
    const names = must(await git(around, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit])).split('\0');
    const rules = names.filter((path) => IGNORE_RULES.test(path));
    await putFiles(around, commit, rules, folder);
    const top = join(folder, '.gitignore');
    const own = readRegularFile(top) ?? '';
    // A link would lead to a file of the user.
    removeIfThere(top);
    writeFileSync(top, [...(facts.ignores ?? []), own].join('\n'));
    const words = [`--git-dir=${gitDir}`, `--work-tree=${folder}`, 'check-ignore', '--no-index', '-z', '--stdin'];
    return new Set((await git(around, words, { input: nulList(added), at: folder })).text.split('\0'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns whether everything in the way of a path is new: a link, a file, or all files of its folder. */
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
  const userGit = gitIn(around.projectDir);
  const where = (name: string | null): string => name?.replace('refs/heads/', '') ?? 'a detached HEAD';
  const advice = `Bring single files back: ${userGit} restore --source=${start.commit.slice(0, 12)} -- PATH`;
  if (branch !== start.branch) {
    const text = `The loop started on ${where(start.branch)}, and ${where(branch)} is checked out. Nothing was changed.`;
    const first = start.branch === null ? '' : ` To undo it, first: ${userGit} switch ${quoted(where(start.branch))}.`;
    throw new RalphError('refused', `${text}${first} ${advice}`);
  }
  if (head === start.head) return [];
  const words = ['log', '--left-right', '--no-show-signature', '--format=%m%x09%H%x09%ct%x09%h %s'];
  const list = await git(around, [...words, `${start.head}...${head}`]);
  const lines = list.text.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));
  if (!list.ok || lines.some(([side]) => side === '<'))
    throw new RalphError('refused', `The history since the start was rewritten. Nothing was changed. ${advice}`);
  const range = `${start.head}..${head}`;
  const idsOf = async (...words: string[]): Promise<Set<string>> =>
    new Set(
      must(await git(around, ['rev-list', ...words]))
        .split('\n')
        .filter(Boolean),
    );
  const inLoop = end === null || end.head === head ? null : await idsOf(`${start.head}..${end.head}`);
  // A commit that changes nothing in the project's folder is the work of another loop in the repository, or of the user; but
  // files in a folder above it, such as a lock file, belong to all projects below.
  const changing = (...paths: string[]) => idsOf('--no-merges', '--full-history', range, '--', ...paths);
  const above = around.prefix.split('/').slice(1);
  const here = await changing('.', ...above.map((_, at) => `:(glob)${'../'.repeat(at + 1)}*`));
  const elsewhere = await changing(':(exclude).');
  // Git stores whole seconds.
  const others = lines.filter(
    ([, id = '', at = '']) =>
      inLoop?.has(id) === false ||
      (elsewhere.has(id) && !here.has(id)) ||
      !(isLoops(Number(at) * 1000) || isLoops(Number(at) * 1000 + 999)),
  );
  if (others.length > 0) {
    const shown = others.map(([, , , text]) => text).join('; ');
    const or = around.prefix === '' ? '' : ' or are of another folder';
    const text = `These commits since the start are not the loop's${or}: ${shown}. Nothing was changed.`;
    throw new RalphError('refused', `${text} ${advice}`);
  }
  if ((await idsOf(range, '--not', '--remotes')).size !== lines.length) {
    const text = `Commits since the start were pushed. Nothing was changed. Undo them with ${userGit} revert.`;
    throw new RalphError('refused', `${text} ${advice}`);
  }
  return lines.map(([, , , text = '']) => text);
}

/**
 * Compares the project's files with their start, including those that are now ignored. `later`: those that differ from
 * `end`; `repositories`: nested ones whose files differ from their commit.
 */
function projectSince(around: Around, start: string, end: string | null) {
  return withFilesIndexed(around, async (index) => {
    let since = await changesFrom(around, start, { index });
    const ignored = since.filter(({ path, is }) => is === null && isFileAt(around.top, path)).map(({ path }) => path);
    if (ignored.length > 0) {
      await indexPaths(around, index, ignored);
      since = await changesFrom(around, start, { index });
    }
    const later = end === null ? [] : await changesFrom(around, end, { index });
    const repositories = (await changedRepositories(around, index)).filter(
      (path) => !since.some((change) => change.path === path),
    );
    return { since, later: new Set(later.map(({ path }) => path)), repositories };
  });
}

/** What an undo has done, stored in the message of the commit that keeps the state before it. */
interface UndoRecord {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly head: string;
  readonly index: string | null;
  readonly branch: string | null;
  readonly start: RecordedTree;
  readonly paths: readonly Path[];
  /** Modes of the new files that were removed. */
  readonly modes?: Readonly<Record<Path, number>>;
  /** Times at which the loop changed the replaced or removed files, in epoch milliseconds: they distinguish its changes from the user's. */
  readonly times?: Readonly<Record<Path, number>>;
}

/** Returns JSON that no encoding setting for messages changes. */
function asciiJson(record: UndoRecord): string {
  return JSON.stringify(record).replace(/[\u0080-\uffff]/g, escaped);
}

/**
 * Undoes the planned changes, after recording the present state for `undoBack`. If it is cut short, another undo does the rest.
 * Throws `refused`, before the first change, if the index is locked.
 */
export async function applyUndo(
  plan: UndoPlan,
  facts: Omit<UndoFacts, 'start' | 'end' | 'sandbox'> & { readonly loopId: string },
  removesNew: boolean,
): Promise<void> {
  const { loopId, isLoops, lastWork, startedAt, freeBytes } = facts;
  const { around, start, end, commits } = plan;
  const { head, branch } = around;
  const added = removesNew ? plan.added : [];
  const bring = removesNew ? [...plan.bring, ...plan.behind] : plan.bring;
  await refuseFullDisk(around, start.commit, { bring, removed: added, freeBytes });
  const number = 1 + Math.max(0, ...(await undone(around, loopId)).map((one) => one.number));
  const paths = [...bring, ...added];
  const index = await commitIndex(around);
  const kept = { modes: modesOf(around.top, added), times: timesOf(around.top, paths, isLoops, lastWork) };
  const message = asciiJson({ at: Date.now(), head, index, branch, start, paths, ...kept });
  const ref = refOf(loopId, `undone-${number}`);
  await recordPaths(around, paths, { index, ref, message });
  try {
    const loops = end === null ? [] : [end.commit, end.index ?? end.commit];
    await putIndex(around, { to: start.index, was: index, known: loops });
  } catch (error) {
    must(await git(around, ['update-ref', '-d', ref]));
    throw error;
  }
  try {
    // An old one whose entries are as old came there as a whole. One that was made later and not by the loop, by an `undoBack`.
    removeFiles(around, added, (made, changed) =>
      made < startedAt ? changed < startedAt : isLoops(made) || !isLoops(changed),
    );
    await putFiles(around, start.commit, bring);
    if (commits.length > 0) await moveBranch(around, start.head, head);
  } catch (error) {
    const text = `${(error as Error).message} Only a part was undone. Run undo again for the rest.`;
    throw new RalphError('refused', advise(text, 'To take it back', 'undo', { back: true }), error);
  }
}

/**
 * Takes back the last undo, even one that was cut short. Returns files that were left alone because they changed since. Throws
 * `refused` if there is none, or if the disk is full.
 */
export async function undoBack(
  projectDir: string,
  env: Env,
  { loopId, sandbox, freeBytes }: Pick<UndoFacts, 'sandbox' | 'freeBytes'> & { readonly loopId: string },
): Promise<LeftAlone[]> {
  const around = await repositoryAround(projectDir, env, sandbox);
  const undos = around === null ? [] : await undone(around, loopId);
  const last = undos.sort((one, other) => other.number - one.number)[0];
  if (around === null || last === undefined)
    throw new RalphError('refused', 'There is no undo that can be taken back.');
  const { ref, message } = last;
  const { at, start, paths, head, branch, index, modes = {}, times = {} } = JSON.parse(message) as UndoRecord;
  if (around.branch !== branch || ![start.head, head].includes(around.head)) {
    const text = 'Branch or commits changed since the undo. Nothing was changed. Its state before is kept as';
    throw new RalphError('refused', `${text} ${ref}.`);
  }
  const { since: changed, later } = await projectSince(around, start.commit, ref);
  const since = new Set(changed.map(({ path }) => path));
  const before = new Map((await changesFrom(around, start.commit, ref)).map((change) => [change.path, change]));
  // A concurrent undo may already have handled some of them.
  const untouched = paths.filter((path) => !since.has(path) && before.has(path));
  const removed = untouched.filter((path) => before.get(path)?.is === null);
  const returning = untouched.filter((path) => before.get(path)?.is !== null);
  await refuseFullDisk(around, ref, { bring: returning, removed, freeBytes });
  const present = start.index && (await commitIndex(around));
  if (present) await putIndex(around, { to: index, was: present, known: [start.index] });
  removeFiles(around, removed, (made) => made >= at);
  await putFiles(around, ref, returning);
  // Also those that an interrupted call brought back: a new time would make them the user's.
  const isBack = (path: Path): boolean => since.has(path) && !later.has(path) && isFileAt(around.top, path);
  for (const path of [...returning, ...paths.filter(isBack)]) {
    const [file, time] = [onDisk(around.top, path), times[path]];
    keepPrivate(file, modes[path] ?? 0o100777);
    if (time !== undefined) lutimesSync(file, Date.now() / 1000, time / 1000);
  }
  if (head !== around.head) await moveBranch(around, head, around.head);
  must(await git(around, ['update-ref', '-d', ref]));
  return paths.filter((path) => since.has(path) && later.has(path)).map((path) => ({ path, why: 'changed-since' }));
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

/** `was`: commit of the present index; null while a merge has conflicts. `known`: commits whose content in the index is the loop's. */
type IndexChange = { readonly to: string | null; readonly was: string | null; readonly known: readonly string[] };

/** Gives the index a commit's content in the project's folder. What the user staged on top of the loop's work stays. */
async function putIndex(around: Around, { to, was, known }: IndexChange): Promise<void> {
  if (to === null || to === was) return;
  const quiet = ['--literal-pathspecs', 'reset', '--quiet'];
  if (was === null) return void must(await git(around, [...quiet, to, '--', '.']));
  const changed = async (from: string): Promise<Path[]> =>
    (await changesFrom(around, from, was)).map(({ path }) => path);
  const others = await Promise.all(known.map(async (commit) => new Set(await changed(commit))));
  const isUsers = (path: Path): boolean => others.length > 0 && others.every((other) => other.has(path));
  const paths = (await changed(to)).filter((path) => !isUsers(path));
  if (paths.length === 0) return;
  const words = [...quiet, to, '--pathspec-from-file=-', '--pathspec-file-nul'];
  must(await git(around, words, { input: nulList(paths), at: around.top }));
}

/** Moves only the branch or the detached HEAD: index and files stay, so that nothing outside the project's folder is lost. */
async function moveBranch(around: Around, to: string, from: string): Promise<void> {
  must(await git(around, ['update-ref', '-m', 'ralph-loop undo', 'HEAD', to, from]));
}
