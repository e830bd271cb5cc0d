import { existsSync, lstatSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { confine } from '../../sandbox/bubblewrap.ts';
import { onPath } from '../../state/process/find-program.ts';
import { runToEnd } from '../../state/process/run-to-end.ts';
import { RalphError } from '../../text/message.ts';
import { askPlaces, copyIndex, gitPlaces, NO_FILE, partsOf, placesIn, withoutPlace, workFolder } from './run-git.ts';

/** Files of a project at one moment, as commits that a reference of the repository keeps. */
export interface RecordedTree {
  /** Commit whose tree has the files of the work tree, with untracked and without ignored files. */
  readonly commit: string;
  /** Commit whose tree is the index; null while a merge has conflicts. */
  readonly index: string | null;
  readonly head: string;
  /** Full name of the checked-out branch; null for a detached HEAD. */
  readonly branch: string | null;
}

/** Repository around a project. `prefix` is the project's path in it, empty or with a slash at the end. */
export interface Around extends Place {
  readonly top: string;
  readonly gitDir: string;
  readonly prefix: string;
  readonly indexFile: string;
  readonly head: string;
  readonly headTree: string;
  readonly branch: string | null;
}

/** Where git runs. `sandbox` confines it: the agent may have set a program in the repository's settings. */
export interface Place {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly sandbox: Sandbox | undefined;
  readonly top?: string;
  readonly gitDir?: string;
  /** git works in this separate folder, without settings and attributes of the repository, the user and the system. */
  readonly alone?: string;
}

/** Reference of a loop: `start`, `end`, and `undone-N` for the state before each undo. */
export const refOf = (loopId: string, name: string): string => `refs/ralph-loop/${loopId}/${name}`;

export const IDENTITY = {
  GIT_AUTHOR_NAME: 'ralph-loop',
  GIT_AUTHOR_EMAIL: 'ralph-loop@localhost',
  GIT_COMMITTER_NAME: 'ralph-loop',
  GIT_COMMITTER_EMAIL: 'ralph-loop@localhost',
};
/** Overrides of repository settings that start programs or hide changes. */
const QUIET = [
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.trustctime=true',
  'core.checkStat=default',
  `core.hooksPath=${NO_FILE}`,
  'advice.addEmbeddedRepo=false',
  'core.quotePath=false',
  'i18n.commitEncoding=UTF-8',
  'i18n.logOutputEncoding=UTF-8',
];
const SETTINGS = QUIET.flatMap((setting) => ['-c', setting]);
/** Options of a command that covers files outside a sparse checkout, too. */
const WHOLE = ['-c', 'core.sparseCheckout=false'];
/** Otherwise git reads the user's attributes from their default place, even without the user's settings. */
const NO_ATTRIBUTES = ['-c', `core.attributesFile=${NO_FILE}`];
const TIME_MS = 120_000;
const MOST_OUTPUT = 256 * 1024 * 1024;

export interface Answer {
  readonly ok: boolean;
  readonly text: string;
  readonly complaint: string;
}

/** Runs git in the project without the repository's hooks. `index` replaces the repository's own index. */
export async function git(
  { projectDir, env, sandbox: terms, top = projectDir, gitDir = join(projectDir, '.git'), alone }: Place,
  words: readonly string[],
  {
    index,
    input = '',
    at = projectDir,
  }: { readonly index?: string | undefined; readonly input?: string | Buffer; readonly at?: string } = {},
): Promise<Answer> {
  const program = onPath('git', env);
  if (program === null) return { ok: false, text: '', complaint: 'git was not found on the PATH.' };
  const given = alone === undefined ? withoutPlace(env) : aloneIn(alone, top, env);
  const own = { ...given, ...IDENTITY, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_NO_REPLACE_OBJECTS: '1' };
  const call = confine(terms && { terms, ...gitPlaces(top, gitDir) }, {
    program,
    words: [...SETTINGS, ...(alone === undefined ? [] : NO_ATTRIBUTES), ...words],
    directory: at,
    env: index === undefined ? own : { ...own, GIT_INDEX_FILE: index },
  });
  const run = { cwd: at, env: call.env, input, timeMs: TIME_MS, mostOutput: MOST_OUTPUT };
  const { code, output, complaint } = await runToEnd(call.program, call.words, run);
  return { ok: code === 0, text: output.toString('latin1'), complaint };
}

function aloneIn(gitDir: string, top: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith('GIT_'))),
    GIT_DIR: gitDir,
    GIT_WORK_TREE: top,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: NO_FILE,
    GIT_ATTR_NOSYSTEM: '1',
  };
}

/**
 * Reads where the project is in its repository, which must be within `top`; null outside a repository and before its
 * first commit.
 */
export async function repositoryAround(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  sandbox?: Sandbox,
  top = projectDir,
): Promise<Around | null> {
  const place: Place = { projectDir, env, sandbox };
  const found = await git({ ...place, top }, askPlaces(...AROUND));
  return found.ok ? aroundIn(place, placesIn(Buffer.from(found.text, 'latin1').toString())) : null;
}

/** Questions to git about the project's place in its repository; they come last in a call. */
export const AROUND: readonly (readonly string[])[] = [
  ...[['--show-toplevel'], ['--show-prefix'], ['--absolute-git-dir'], ['--git-path', 'index']],
  ...[['HEAD^{commit}'], ['HEAD^{tree}'], ['--symbolic-full-name', 'HEAD']],
];

export function aroundIn(place: Pick<Around, 'projectDir' | 'env' | 'sandbox'>, answers: readonly string[]): Around {
  const [top = '', prefix = '', gitDir = '', index = '', head = '', headTree = '', name = ''] = answers;
  const branch = name.startsWith('refs/') ? name : null;
  return { ...place, top, prefix, gitDir, indexFile: resolve(place.projectDir, index), head, headTree, branch };
}

/** Calls `use` with a copy of the index, which is removed afterwards. */
async function withIndexCopy<T>({ gitDir, indexFile }: Around, use: (index: string) => Promise<T>): Promise<T> {
  const folder = workFolder(gitDir, 'index');
  try {
    const index = join(folder, 'index');
    if (existsSync(indexFile)) copyIndex(indexFile, index);
    return await use(index);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Calls `use` with a temporary index of the project's files, including untracked but not ignored ones. */
export function withFilesIndexed<T>(around: Around, use: (index: string) => Promise<T>, hidesNone = false): Promise<T> {
  return withIndexCopy(around, async (index) => {
    if (!hidesNone) await showHidden(around, index);
    // Unreadable files stay as they are in the index.
    await git(around, [...WHOLE, 'add', '--all', '--ignore-errors', '--', '.'], { index });
    return use(index);
  });
}

/** Returns the files of an index that git does not examine, by the flag that hides them. */
async function hiddenFiles(place: Place, at: string, index?: string) {
  const listed = partsOf(must(await git(place, [...WHOLE, 'ls-files', '-v', '-z'], { at, index })));
  const marked = (form: RegExp): string[] => listed.filter((line) => form.test(line)).map((line) => line.slice(2));
  const isThere = (path: string): boolean => lstatSync(onDisk(at, path), { throwIfNoEntry: false }) !== undefined;
  return {
    'assume-unchanged': marked(/^[a-z] /),
    // With this flag, the files outside a sparse checkout are simply missing.
    'skip-worktree': marked(/^s /i).filter(isThere),
  };
}

/** Returns whether git takes some files of the repository at `top` for unchanged without examining them. */
export async function hidesFiles(place: Place, top: string): Promise<boolean> {
  return Object.values(await hiddenFiles(place, top)).flat().length > 0;
}

/** Makes git examine all files of an index except those outside a sparse checkout. */
async function showHidden(around: Around, index: string): Promise<void> {
  for (const [flag, paths] of Object.entries(await hiddenFiles(around, around.top, index)))
    if (paths.length > 0) await updateIndex(around, index, paths, `--no-${flag}`);
}

/** Makes an index hold these paths, from the top of the repository, as they are on disk, even if ignored. */
export function indexPaths(around: Around, index: string, paths: readonly string[]): Promise<void> {
  return updateIndex(around, index, paths, '--add', '--remove', '--replace');
}

async function updateIndex(
  around: Around,
  index: string,
  paths: readonly string[],
  ...options: readonly string[]
): Promise<void> {
  const words = [...WHOLE, 'update-index', ...options, '-z', '--stdin'];
  must(await git(around, words, { index, input: nulList(paths), at: around.top }));
}

/** Returns a commit whose tree is the index (the head itself if both are the same); null while a merge has conflicts. */
export function commitIndex(around: Around): Promise<string | null> {
  const { head, headTree } = around;
  return withIndexCopy(around, async (index) => {
    const staged = await git(around, ['write-tree'], { index });
    if (!staged.ok) return null;
    const tree = staged.text.trim();
    return tree === headTree ? head : must(await git(around, ['commit-tree', tree, '-p', head, '-m', 'Index']));
  });
}

/** Records a project whose files and index match its head. */
export async function recordHead(around: Around, ref: string): Promise<RecordedTree> {
  const { head, branch } = around;
  must(await git(around, ['update-ref', ref, head]));
  return { commit: head, index: head, head, branch };
}

/**
 * Records the project's files and the index under a reference. Leaves files, index, stash and branches unchanged. `isHead`: the
 * index is known to match the head; `hidesNone`: git is known to examine all files. Throws if git refuses.
 */
export async function recordTree(
  around: Around,
  ref: string,
  message: string,
  { isHead, hidesNone }: { readonly isHead?: boolean; readonly hidesNone?: boolean } = {},
): Promise<RecordedTree> {
  const write = async (files: string): Promise<string> => must(await git(around, ['write-tree'], { index: files }));
  const [index, tree] = await Promise.all([
    isHead ? around.head : commitIndex(around),
    withFilesIndexed(around, write, hidesNone),
  ]);
  const commit = await keepTree(around, { tree, index, ref, message });
  return { commit, index, head: around.head, branch: around.branch };
}

/** Records these paths, from the top of the repository, and the index under a new reference. Throws if git refuses. */
export async function recordPaths(
  around: Around,
  paths: readonly string[],
  as: Pick<Kept, 'index' | 'ref' | 'message'>,
): Promise<void> {
  await withIndexCopy(around, async (files) => {
    // An index with conflicts cannot be written as a tree.
    if (as.index === null) must(await git(around, ['read-tree', around.head], { index: files }));
    await showHidden(around, files);
    // Adding a file or link drops the paths below it, and adding what is in a folder drops a file of its name.
    const here = paths.filter((path) => !isBelowFile(around.top, path));
    const isFolder = (path: string): boolean => existsSync(onDisk(around.top, path)) && !isFileAt(around.top, path);
    const folders = here.filter(isFolder);
    if (folders.length > 0) await updateIndex(around, files, folders, '--force-remove');
    const others = here.filter((path) => !folders.includes(path));
    await indexPaths(around, files, others);
    await keepTree(around, { tree: must(await git(around, ['write-tree'], { index: files })), ...as }, true);
  });
}

interface Kept {
  readonly tree: string;
  readonly index: string | null;
  readonly ref: string;
  readonly message: string;
}

async function keepTree(around: Around, { tree, index, ref, message }: Kept, isNew = false): Promise<string> {
  const parents = [...new Set([around.head, index ?? around.head])].flatMap((parent) => ['-p', parent]);
  const commit = must(await git(around, ['commit-tree', tree, ...parents, '-F', '-'], { input: message }));
  // An empty old value: git then refuses to overwrite a reference of another process.
  must(await git(around, ['update-ref', ref, commit, ...(isNew ? [''] : [])]));
  return commit;
}

export function must({ ok, text, complaint }: Answer): string {
  if (!ok)
    throw new RalphError(
      'refused',
      `git refuses (git status says more): ${complaint.trim().replaceAll('\n', '; ') || 'no reason given'}`,
    );
  return text.trim();
}

/** Returns the path on disk for a name printed by git, whose characters are its bytes. */
export const onDisk = (top: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);

/** Returns whether a file or link has replaced a folder of the path. */
export function isBelowFile(top: string, path: string): boolean {
  return fileAbove(top, path) !== null;
}

/** Returns the path of the file or link that has replaced a folder of the path; null if none has. */
export function fileAbove(top: string, path: string): string | null {
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
    const above = path.slice(0, end);
    const stat = lstatSync(onDisk(top, above), { throwIfNoEntry: false });
    if (stat === undefined) return null;
    if (!stat.isDirectory()) return above;
  }
  return null;
}

export function isFileAt(top: string, path: string): boolean {
  if (isBelowFile(top, path)) return false;
  const stat = lstatSync(onDisk(top, path), { throwIfNoEntry: false });
  return stat !== undefined && !stat.isDirectory();
}

/**
 * Returns the git tree of the project's files, including untracked ones, or of those of `commit`, without those that
 * `leavesOut` names. In a larger repository, only the project's folder counts. Throws if git refuses.
 */
export async function projectTree(
  around: Around,
  commit: string | null,
  leavesOut: (path: string) => boolean,
): Promise<string> {
  const within = commit === null ? withFilesIndexed : withIndexCopy;
  if (around.prefix === '' && !isSameFolder(around.top, around.projectDir)) {
    const where = `git looks for the files of ${around.projectDir} in ${around.top}.`;
    throw new RalphError('refused', `${where} Put that right: git config --unset core.worktree`);
  }
  return within(around, async (index) => {
    const { top: at, prefix } = around;
    if (commit !== null) must(await git(around, ['read-tree', commit], { index }));
    const listed = await git(around, ['ls-files', '-z', '--full-name', '--', `:(top)${prefix}`], { index, at });
    must(listed);
    const paths = partsOf(listed.text);
    const size = Buffer.byteLength(prefix);
    const gone = paths.filter((path) => leavesOut(onScreen(path.slice(size))));
    if (gone.length === paths.length) return must(await git(around, ['hash-object', '-t', 'tree', '-w', '--stdin']));
    await updateIndex(around, index, gone, '--force-remove');
    return must(await git(around, ['write-tree', ...(prefix === '' ? [] : [`--prefix=${prefix}`])], { index }));
  });
}

function isSameFolder(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

export interface TreeChange {
  /** Path from the top of the repository; each character is one byte of the name. */
  readonly path: string;
  /** Modes before and after; null if there is no file. */
  readonly was: string | null;
  readonly is: string | null;
  /** Modes and contents before and after. */
  readonly former: string;
  readonly present: string;
}

const NONE = '000000';

/** Compares a commit with another one, or with an index, in the project's folder. */
export async function changesFrom(
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
    const [was = '', is = '', wasId = '', isId = ''] = (fields[field] ?? '').slice(1).split(' ');
    changes.push({
      path: fields[field + 1] ?? '',
      was: was === NONE ? null : was,
      is: is === NONE ? null : is,
      former: `${was} ${wasId}`,
      present: `${is} ${isId}`,
    });
  }
  return changes;
}

/** Returns the repositories of an index, submodules or not, whose files differ from their commit. */
export async function changedRepositories(around: Around, index: string): Promise<string[]> {
  const words = ['diff-files', '--raw', '-z', '--ignore-submodules=none', '--', `:(top)${around.prefix}`];
  const fields = must(await git(around, words, { index, at: around.top })).split('\0');
  return fields.filter((_, field) => field % 2 === 1 && fields[field - 1]?.includes(' 160000 '));
}

/** Returns names in the form that git reads with `-z --stdin`. */
export const nulList = (paths: readonly string[]): Buffer =>
  Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');

/** Decodes a name whose characters are its bytes. */
export const onScreen = (path: string): string => Buffer.from(path, 'latin1').toString();
