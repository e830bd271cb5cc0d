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

/** Settings of the repository itself, which no commit holds, that match a pattern. */
async function ownSettings(around: Around, pattern: string): Promise<string[]> {
  const { ok, text } = await git(around, ['config', '--show-scope', '--get-regexp', pattern]);
  return ok ? text.split('\n').filter((line) => /^(?:local|worktree)\t/.test(line)) : [];
}

/** Returns whether the repository's settings name both a program that changes what git reads, and its files. */
async function hasOwnFilters(around: Around): Promise<boolean> {
  const programs = await ownSettings(around, '^filter\\..*\\.(clean|process)$');
  if (programs.length === 0) return false;
  const path = must(await git(around, ['rev-parse', '--git-path', 'info/attributes']));
  const named = readRegularFile(resolve(around.projectDir, onScreen(path))) ?? '';
  return /\bfilter\b/.test(named) || (await ownSettings(around, '^core\\.attributesfile$')).length > 0;
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
  if (!found.ok) return [];
  const hasOwnFile = (await ownSettings(around, '^core\\.excludesfile$')).length > 0;
  // Each answer has four fields: source, line, pattern, path.
  const fields = found.text.split('\0');
  const sourceOf = new Map(
    fields.flatMap((source, at): [string, string][] => (at % 4 === 0 ? [[fields[at + 3] ?? '', source]] : [])),
  );
  const isAside = (source: string): boolean =>
    source.endsWith('info/exclude') || (hasOwnFile && !source.endsWith('.gitignore'));
  return paths.filter((path) => isAside(sourceOf.get(path) ?? '')).map(onScreen);
}
