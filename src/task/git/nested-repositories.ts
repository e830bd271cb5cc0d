import { existsSync, lstatSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { realPathOf } from '../../state/files/regular-file.ts';
import { isWithin, prefixInRepository, repositoryRoot } from '../project-file.ts';
import { mainProjectOf } from '../task-file.ts';
import { type GitOptions, partsOf, runGit } from './run-git.ts';

/**
 * Finds folders that a commit of the project contains only as a link: repositories and worktrees that are not submodules,
 * submodules with uncommitted changes, and those that have moved to another commit. Rejects only with the abort reason.
 */
export async function nestedRepositories(
  projectDir: string,
  changed: readonly string[],
  since: string,
  options: GitOptions,
): Promise<Readonly<Record<'strange' | 'unsaved' | 'moved', readonly string[]>>> {
  const isFolder = (path: string): boolean | undefined =>
    lstatSync(join(projectDir, path), { throwIfNoEntry: false })?.isDirectory();
  const folders = changed.filter(isFolder);
  const [strange, unsaved, moved]: [string[], string[], string[]] = [[], [], []];
  if (folders.length === 0) return { strange, unsaved, moved };
  const ask = (directory: string, words: readonly string[]) => runGit(directory, words, options);
  const modules = await submodulesOf(projectDir, options);
  for (const folder of folders) {
    const path = folder.replace(/\/+$/, '');
    const before = await ask(projectDir, ['ls-tree', since, '--', path]);
    const isKnown = before.kind === 'answer' && before.text.startsWith('160000 ');
    if (!isKnown && !modules.includes(path)) {
      strange.push(path);
      continue;
    }
    const inside = await ask(join(projectDir, path), ['status', '--porcelain', '-uall', '--ignore-submodules=none']);
    (inside.kind === 'answer' && inside.text === '' ? moved : unsaved).push(path);
  }
  return { strange, unsaved, moved };
}

/** Returns the paths of the project's submodules, relative to it. Rejects only with the abort reason. */
export async function submodulesOf(projectDir: string, options: GitOptions): Promise<string[]> {
  const file = join(repositoryRoot(projectDir) ?? projectDir, '.gitmodules');
  if (!existsSync(file)) return [];
  const words = ['config', '-z', '--file', file, '--get-regexp', '^submodule\\..*\\.path$'];
  const listed = await runGit(projectDir, words, options);
  if (listed.kind !== 'answer') return [];
  const begin = prefixInRepository(projectDir) ?? '';
  return partsOf(listed.text)
    .map((line) => line.slice(line.indexOf('\n') + 1))
    .flatMap((path) => (path.startsWith(begin) ? [path.slice(begin.length)] : []));
}

/**
 * Where a link leads: `within` what a clone contains; to a `path` that only this checkout has, in the project or in the
 * main project of a worktree; or `outside` the repository.
 */
export type LinkTarget = 'within' | 'path' | 'outside';

/** Returns where the link at a path of a work tree leads. */
export function linkTarget(directory: string, path: string, target: string): LinkTarget {
  const place = resolve(directory, dirname(path), target);
  const prefix = prefixInRepository(directory) ?? '';
  if (!isAbsolute(target) && isWithin(resolve(directory, prefix.replaceAll(/[^/]+/g, '..')), place)) return 'within';
  const main = mainProjectOf(directory) ?? directory;
  const isOfProject = [main, realPathOf(main)].some((root) => root !== null && isWithin(root, place));
  return isOfProject ? 'path' : 'outside';
}

/** Returns the links that were added or changed between two commits, with their targets as text; `git` returns git's output. */
export function changedLinks(git: (...words: string[]) => string, from: string, to: string) {
  const parts = git('diff', '--raw', '--no-abbrev', '--no-renames', '-z', from, to).split('\0');
  return parts.flatMap((part, index) => {
    const [, object] = /^:\d+ 120000 \w+ (\w+)/.exec(part) ?? [];
    return object === undefined ? [] : [{ path: parts[index + 1] ?? '', target: git('cat-file', 'blob', object) }];
  });
}
