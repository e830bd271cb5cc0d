import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { askGit, userGit } from './repository.ts';

interface Submodule {
  /** Section in `.gitmodules`. */
  readonly name: string;
  /** Relative to the work tree. */
  readonly path: string;
}

/** Lists the submodules of a work tree, whether their files are there or not. */
function submodulesOf(dir: string, env: NodeJS.ProcessEnv): Submodule[] {
  if (!existsSync(join(dir, '.gitmodules'))) return [];
  const words = ['config', '--file', '.gitmodules', '--null', '--get-regexp', String.raw`^submodule\..*\.path$`];
  const { ok, text } = userGit(dir, words, env);
  if (!ok) return [];
  return text.split('\0').flatMap((entry) => {
    const at = entry.indexOf('\n');
    if (at < 0) return [];
    return [{ name: entry.slice('submodule.'.length, at - '.path'.length), path: entry.slice(at + 1) }];
  });
}

const isThere = (dir: string, { path }: Submodule): boolean => existsSync(join(dir, path, '.git'));

/**
 * Checks out the submodules that the main checkout has, from its own copies: nothing is fetched from elsewhere. Their remotes are
 * those of the main checkout. Returns the paths of those that could not be checked out.
 */
export function checkOutSubmodules(mainDir: string, dir: string, env: NodeJS.ProcessEnv): string[] {
  return submodulesOf(dir, env).flatMap((submodule) => {
    const { name, path } = submodule;
    const [here, there] = [join(mainDir, path), join(dir, path)];
    if (!isThere(mainDir, submodule) || isThere(dir, submodule)) return [];
    const source = resolve(
      here,
      askGit(here, ['rev-parse', '--git-dir'], env, `the submodule ${path} could not be read`),
    );
    const local = ['-c', `submodule.${name}.url=${source}`, '-c', 'protocol.file.allow=always'];
    const made = userGit(dir, [...local, 'submodule', '--quiet', 'update', '--init', '--', path], env);
    if (!made.ok) return [path];
    const origin = userGit(here, ['config', '--get', 'remote.origin.url'], env);
    if (origin.ok) userGit(there, ['remote', 'set-url', 'origin', origin.text.trim()], env);
    return checkOutSubmodules(here, there, env).map((inner) => `${path}/${inner}`);
  });
}

/** Lists the submodules of a worktree with commits that the main checkout's copies of them lack. */
export function unsavedSubmodules(mainDir: string, dir: string, env: NodeJS.ProcessEnv): string[] {
  return submodulesOf(dir, env).flatMap((submodule) => {
    if (!isThere(dir, submodule)) return [];
    const { path } = submodule;
    const [here, there] = [join(mainDir, path), join(dir, path)];
    const words = ['for-each-ref', '--format=%(objectname)', 'refs/heads'];
    const tips = askGit(there, words, env, `the submodule ${path} could not be read`).split('\n');
    const head = userGit(there, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env);
    const isSaved = (commit: string): boolean =>
      commit === '' ||
      (isThere(mainDir, submodule) && userGit(here, ['cat-file', '-e', commit], env).ok) ||
      userGit(there, ['branch', '--remotes', '--contains', commit], env).text !== '';
    const own = [...tips, head.text.trim()].every(isSaved) ? [] : [path];
    return [...own, ...unsavedSubmodules(here, there, env).map((inner) => `${path}/${inner}`)];
  });
}
