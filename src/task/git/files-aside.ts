import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { WORKTREES } from '../task-file.ts';
import {
  type Around,
  git,
  must,
  namesIn,
  onScreen,
  projectTree,
  repositoryAround,
  withFilesIndexed,
} from './record-tree.ts';

/**
 * Returns why the tree of the project's files does not say what they hold: repositories within the project, submodules or
 * not, that hold what their commit does not or are not checked out, and programs that change what git reads.
 */
export async function filesAside(around: Around, leavesOut: (path: string) => boolean): Promise<string[]> {
  const { top, prefix, env, sandbox } = around;
  const size = Buffer.byteLength(prefix);
  const listed = await withFilesIndexed(around, (index) =>
    git(around, ['ls-files', '--stage', '-z', '--full-name', '--', `:(top)${prefix}`], { index, at: top }),
  );
  const links = namesIn(must(listed)).filter((line) => line.startsWith('160000 '));
  const aside = (await hasOwnFilters(around)) ? ['unknown: programs of .git/config change what git reads of them'] : [];
  for (const line of links) {
    const name = line.slice(line.indexOf('\t') + 1);
    if (leavesOut(onScreen(name.slice(size)))) continue;
    const path = onScreen(name);
    const directory = join(top, path);
    if (!existsSync(join(directory, '.git'))) {
      aside.push(`the submodule ${path} is not checked out (git submodule update --init)`);
      continue;
    }
    const inner = await repositoryAround(directory, env, sandbox, top);
    if (inner === null || (await projectTree(inner, null, every)) !== inner.headTree)
      aside.push(`the repository ${path} has changes that its commit does not hold`);
    else aside.push(...(await filesAside(inner, every)).map((each) => `in the repository ${path}: ${each}`));
  }
  return aside;
}

/** Of a repository inside, everything counts. */
const every = (): boolean => false;

/** Names of the settings of the repository itself, which no commit holds. Throws if git cannot read them. */
async function ownSettings(around: Around): Promise<string[]> {
  const listed = must(await git(around, ['config', '--show-scope', '--list', '-z'])).split('\0');
  // A scope, then a name with its value on the next line.
  const isOwn = (at: number): boolean => at % 2 === 1 && /^(?:local|worktree)$/.test(listed[at - 1] ?? '');
  return listed.filter((_, at) => isOwn(at)).map((setting) => setting.replace(/\n.*/s, ''));
}

/** Returns whether the repository's settings name both a program that changes what git reads, and its files. */
async function hasOwnFilters(around: Around): Promise<boolean> {
  const names = await ownSettings(around);
  if (!names.some((name) => /^filter\..*\.(?:clean|process)$/s.test(name))) return false;
  const path = must(await git(around, ['rev-parse', '--git-path', 'info/attributes']));
  const named = readRegularFile(resolve(around.projectDir, onScreen(path))) ?? '';
  return /\bfilter\b/.test(named) || names.includes('core.attributesfile');
}

/** Returns the files, relative to the project, that only settings of the repository let git ignore, not its .gitignore files. */
export async function ignoredAside(around: Around, leavesOut: (path: string) => boolean): Promise<string[]> {
  const listed = await git(around, ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']);
  const paths = namesIn(must(listed)).filter(
    (path) => !leavesOut(onScreen(path)) && onScreen(path) !== `${WORKTREES}/`,
  );
  if (paths.length === 0) return [];
  const input = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');
  const found = await git(around, ['check-ignore', '-v', '-z', '--stdin'], { input });
  // Without a complaint, none of them has a rule of its own.
  if (!found.ok && found.complaint !== '') must(found);
  const hasOwnFile = (await ownSettings(around)).includes('core.excludesfile');
  // Each answer has four fields: source, line, pattern, path.
  const fields = found.text.split('\0');
  const sourceOf = new Map(
    fields.flatMap((source, at): [string, string][] => (at % 4 === 0 ? [[fields[at + 3] ?? '', source]] : [])),
  );
  const isAside = (source: string): boolean =>
    source.endsWith('info/exclude') || (hasOwnFile && !source.endsWith('.gitignore'));
  return paths.filter((path) => isAside(sourceOf.get(path) ?? '')).map(onScreen);
}
