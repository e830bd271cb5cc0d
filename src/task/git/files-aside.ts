import { createHash } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { lineHere } from '../../state/process/program.ts';
import { listed } from '../../text/quote.ts';
import { WORKTREES } from '../task-file.ts';
import { alternate } from './git-pins.ts';
import { outermost } from './list-files.ts';
import type { Around } from './record-tree.ts';
import { git, must, onDisk, onScreen, projectTree, repositoryAround, withFilesIndexed } from './record-tree.ts';
import { partsOf, workFolder } from './run-git.ts';

export interface Aside {
  /**
   * Reasons why the tree of the project's files does not represent them: files that git cannot read, that are missing, or
   * that it reads differently, and nested repositories whose files differ from their commit.
   */
  readonly problems: readonly string[];
  /** Files and folders, relative to the project, that git ignores here or in a nested repository. */
  readonly ignored: readonly string[];
}

/** Returns what the tree of the project's files does not represent. */
export function filesAside(around: Around, leavesOut: (path: string) => boolean): Promise<Aside> {
  const { prefix } = around;
  const size = Buffer.byteLength(prefix);
  const isOwn = (name: string): boolean => leavesOut(onScreen(name.slice(size)));
  return withFilesIndexed(around, async (index) => {
    const [own, within] = [await ignoredHere(around, leavesOut), await repositoriesAside(around, index, isOwn)];
    return {
      problems: [
        ...(await notTaken(around, index, isOwn)),
        ...(await readOtherwise(around, index, isOwn)),
        ...within.problems,
      ],
      ignored: [...own, ...within.ignored],
    };
  });
}

type Indexed = readonly [around: Around, index: string, isOwn: (name: string) => boolean];

/** Names what git has not added to the index of the files: it cannot read it, or it is a repository without a commit. */
async function notTaken(...[around, index, isOwn]: Indexed): Promise<string[]> {
  const { top: at, prefix } = around;
  const words = ['ls-files', '--others', '--exclude-standard', '-z', '--full-name', '--', `:(top)${prefix}`];
  const left = partsOf(must(await git(around, words, { index, at }))).filter((name) => !isOwn(name));
  return left
    .map(onScreen)
    .map((path) =>
      path.endsWith('/')
        ? `the repository ${path.slice(0, -1)} has no commit, so git knows none of its files`
        : `unknown: git cannot read ${path}`,
    );
}

/**
 * Names the files that differ from the index when git reads them by the project's own .gitattributes alone, without the
 * settings, attributes and programs of this machine. Line ends are not a difference, nor is an LFS file that matches its
 * pointer.
 */
async function readOtherwise(...[around, index, isOwn]: Indexed): Promise<string[]> {
  const { top, prefix, gitDir } = around;
  const tree = must(await git(around, ['write-tree'], { index, at: top }));
  const objects = must(await git(around, ['rev-parse', '--path-format=absolute', '--git-path', 'objects']));
  const plain = workFolder(gitDir, 'plain');
  try {
    const alone = { ...around, alone: plain };
    const ask = async (...words: string[]): Promise<string> => must(await git(alone, words, { at: top }));
    const format = tree.length === 40 ? 'sha1' : 'sha256';
    await ask('init', '--quiet', '--template=', `--object-format=${format}`);
    // git's variable for this accepts no path with a colon.
    writeFileSync(join(plain, 'objects/info/alternates'), alternate(objects), 'latin1');
    await ask('read-tree', tree);
    const strange = await strangeAttributes(around, await ask('ls-files', '--stage', '-z'), format);
    const words = ['diff', '--raw', '-z', '--no-renames', '--no-abbrev', '--ignore-submodules=all'];
    const found = partsOf(await ask('-c', 'core.autocrlf=input', ...words, '--', `:(top)${prefix}`));
    const [gone, other]: [string[], string[]] = [[], []];
    const present: Present[] = [];
    for (let entry = 0; entry + 1 < found.length; entry += 2) {
      const name = found[entry + 1] ?? '';
      const [before = '', now, blob = ''] = found[entry]?.split(' ') ?? [];
      if (isOwn(name)) continue;
      if (lstatSync(onDisk(top, name), { throwIfNoEntry: false }) === undefined) gone.push(onScreen(name));
      else present.push({ name, blob, isSameKind: before === `:${now}` });
    }
    const pointers = await pointersIn(
      alone,
      present.map(({ blob }) => blob),
    );
    for (const { name, blob, isSameKind } of present)
      if (!isSameKind || !(await isFileOfPointer(onDisk(top, name), pointers.get(blob)))) other.push(onScreen(name));
    const problems: [paths: readonly string[], text: string, advice: string][] = [
      [strange, 'unknown: no commit holds what git reads the files by:', byCommit()],
      [gone, 'not there, although git takes them as unchanged:', `git sparse-checkout disable, or ${byCommit()}`],
      [other, 'unknown: settings of git on this machine change what it reads of', byCommit()],
    ];
    return problems.flatMap(([paths, text, advice]) =>
      paths.length === 0 ? [] : [`${text} ${listOf(paths)} (${advice})`],
    );
  } finally {
    rmSync(plain, { recursive: true, force: true });
  }
}

/** Command for a project whose files differ on this machine from its commits. */
const byCommit = () => lineHere('verify --tree HEAD');

interface Present {
  readonly name: string;
  readonly blob: string;
  /** True if it has the mode recorded in the index. */
  readonly isSameKind: boolean;
}

const ATTRIBUTES = '.gitattributes';

/**
 * Names the attributes files that git finds for the project's files and that differ from what commits contain: in the
 * project, from the compared tree; above it, from the head. git reads them from the disk even if it ignores them.
 */
async function strangeAttributes(around: Around, staged: string, format: string): Promise<string[]> {
  const { top, prefix, headTree } = around;
  const [folders, known] = [new Set<string>(), new Map<string, string>()];
  const note = (entry: string): void => {
    const [, blob = ''] = /([0-9a-f]{40,})/.exec(entry) ?? [];
    known.set(entry.slice(entry.indexOf('\t') + 1), blob);
  };
  for (const entry of partsOf(staged)) {
    const name = entry.slice(entry.indexOf('\t') + 1);
    if (!name.startsWith(prefix)) continue;
    for (let end = name.lastIndexOf('/'); end !== -1 && !folders.has(name.slice(0, end + 1)); ) {
      folders.add(name.slice(0, end + 1));
      end = name.lastIndexOf('/', end - 1);
    }
    if (name.endsWith(ATTRIBUTES)) note(entry);
  }
  folders.add('');
  const above = [...folders].filter((folder) => folder !== prefix && prefix.startsWith(folder));
  if (above.length > 0) {
    const words = ['ls-tree', '-z', '--full-tree', headTree, ...above.map((folder) => onScreen(folder) + ATTRIBUTES)];
    for (const entry of partsOf(must(await git(around, words)))) note(entry);
  }
  return [...folders]
    .map((folder) => folder + ATTRIBUTES)
    .filter((name) => {
      const path = onDisk(top, name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined || stat.isDirectory()) return false;
      return !stat.isFile() || !hashesOf(readFileSync(path), format).includes(known.get(name) ?? '');
    })
    .map(onScreen);
}

/** Returns the names of the blobs of a file as it is and with the line ends of a commit. */
function hashesOf(content: Buffer, format: string): string[] {
  const lines = Buffer.from(content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
  return [content, lines].map((each) => createHash(format).update(`blob ${each.length}\0`).update(each).digest('hex'));
}

/** Pattern for what git-lfs commits in place of a file. */
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]+\n)*oid sha256:([0-9a-f]{64})\nsize \d+$/;

const LONGEST_POINTER = 1024;

/** Returns the texts of those blobs that are short enough to be pointers of git-lfs. */
async function pointersIn(place: Parameters<typeof git>[0], blobs: readonly string[]): Promise<Map<string, string>> {
  const ask = async (option: string, names: readonly string[]): Promise<string> => {
    const answer = await git(place, ['cat-file', option], { input: names.map((name) => `${name}\n`).join('') });
    must(answer);
    return answer.text;
  };
  const texts = new Map<string, string>();
  if (blobs.length === 0) return texts;
  const sizes = (await ask('--batch-check', blobs)).split('\n').map((each) => each.split(' '));
  const short = sizes.filter(([, kind, size]) => kind === 'blob' && Number(size) <= LONGEST_POINTER);
  const answer = await ask(
    '--batch',
    short.map(([blob = '']) => blob),
  );
  let at = 0;
  for (const [blob = '', , size] of short) {
    at = answer.indexOf('\n', at) + 1;
    texts.set(blob, answer.slice(at, at + Number(size)).trim());
    at += Number(size) + 1;
  }
  return texts;
}

/** Returns whether a blob is a pointer of git-lfs to exactly this file. */
async function isFileOfPointer(path: Buffer, blob = ''): Promise<boolean> {
  const [, oid] = POINTER.exec(blob) ?? [];
  if (oid === undefined || !lstatSync(path).isFile()) return false;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex') === oid;
}

/** Names the repositories in the index, submodules or not, that are not checked out or not as their commit, and what they ignore. */
async function repositoriesAside(...[around, index, isOwn]: Indexed): Promise<Aside> {
  const { top, prefix, env, sandbox } = around;
  const words = ['ls-files', '--stage', '-z', '--full-name', '--', `:(top)${prefix}`];
  const listed = partsOf(must(await git(around, words, { index, at: top })));
  const [problems, ignored]: [string[], string[]] = [[], []];
  for (const entry of listed.filter((one) => one.startsWith('160000 '))) {
    const name = entry.slice(entry.indexOf('\t') + 1);
    if (isOwn(name)) continue;
    const path = onScreen(name);
    const directory = join(top, path);
    if (!existsSync(join(directory, '.git'))) {
      problems.push(`the submodule ${path} is not checked out (git submodule update --init)`);
      continue;
    }
    const inner = await repositoryAround(directory, env, sandbox, top);
    if (inner === null || (await projectTree(inner, null, every)) !== inner.headTree) {
      problems.push(`the repository ${path} has changes that its commit does not hold`);
      continue;
    }
    const inside = await filesAside(inner, every);
    for (const each of inside.problems) problems.push(`in the repository ${path}: ${each}`);
    const place = onScreen(name.slice(Buffer.byteLength(prefix)));
    for (const each of inside.ignored) ignored.push(`${place}/${each}`);
  }
  return { problems, ignored };
}

/** In a nested repository, everything counts. */
const every = (): boolean => false;

/** Returns the files and folders, relative to the project, that git ignores outside nested repositories. */
async function ignoredHere(around: Around, leavesOut: (path: string) => boolean): Promise<string[]> {
  const words = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const paths = outermost(partsOf(must(await git(around, words))).map(onScreen));
  return paths.filter((path) => !leavesOut(path) && path !== `${WORKTREES}/`);
}

const MOST = 5;

/** Returns the first paths, and the number of further ones. */
export const listOf = (paths: readonly string[]): string => listed(paths, MOST);
