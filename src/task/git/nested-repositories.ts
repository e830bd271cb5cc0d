import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { type GitAnswer, type GitOptions, runGit } from './run-git.ts';

/**
 * Finds folders of which a commit of the project contains only a link: repositories and worktrees that are not submodules,
 * and submodules with uncommitted changes. Rejects only with the abort's reason.
 */
export async function nestedRepositories(
  projectDir: string,
  changed: readonly string[],
  since: string,
  options: GitOptions,
): Promise<{ readonly strange: readonly string[]; readonly unsaved: readonly string[] }> {
  const isFolder = (path: string): boolean | undefined =>
    lstatSync(join(projectDir, path), { throwIfNoEntry: false })?.isDirectory();
  const folders = changed.filter(isFolder);
  const [strange, unsaved]: [string[], string[]] = [[], []];
  if (folders.length === 0) return { strange, unsaved };
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
    const inside = await ask(join(projectDir, path), ['status', '--porcelain', '--ignore-submodules=none']);
    if (inside.kind !== 'answer' || inside.text !== '') unsaved.push(path);
  }
  return { strange, unsaved };
}

/** Returns the paths of the submodules in the project, relative to it. Rejects only with the abort's reason. */
export async function submodulesOf(projectDir: string, options: GitOptions): Promise<string[]> {
  const ask = (directory: string, words: readonly string[]): Promise<GitAnswer> => runGit(directory, words, options);
  const [up, prefix] = [
    await ask(projectDir, ['rev-parse', '--show-cdup']),
    await ask(projectDir, ['rev-parse', '--show-prefix']),
  ];
  if (up.kind !== 'answer' || prefix.kind !== 'answer') return [];
  const file = join(projectDir, up.text.trim(), '.gitmodules');
  const listed = await ask(projectDir, ['config', '-z', '--file', file, '--get-regexp', '^submodule\\..*\\.path$']);
  const begin = prefix.text.trim();
  return listed.kind !== 'answer'
    ? []
    : listed.text
        .split('\0')
        .map((line) => line.slice(line.indexOf('\n') + 1))
        .flatMap((path) => (path.startsWith(begin) ? [path.slice(begin.length)] : []));
}
