import { cpSync, existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import { namesIn } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { userGit } from './repository.ts';

/**
 * Copies the folder of a relative `core.hooksPath` into a worktree that lacks it, as `.husky/_`, which git ignores: commits there
 * then run the hooks of the main checkout, in the worktree. Copies nothing that is there.
 */
export function takeHooks(mainRoot: string, dir: string, env: NodeJS.ProcessEnv): void {
  const folder = relativeHooks(mainRoot, env);
  if (folder === null || leadsOut(folder) || !existsSync(join(mainRoot, folder)) || existsSync(join(dir, folder)))
    return;
  cpSync(join(mainRoot, folder), join(dir, folder), { recursive: true, verbatimSymlinks: true });
}

/**
 * Names why hooks that run in the main checkout could not run in a worktree; empty if all can. `dir` is the worktree; null for one
 * that does not exist yet and that no command sets up.
 */
export function hookProblems(mainRoot: string, dir: string | null, env: NodeJS.ProcessEnv): string[] {
  const folder = relativeHooks(mainRoot, env);
  if (folder !== null && leadsOut(folder)) return [WORKTREE_TEXTS.hooksOutside(folder)];
  const hooks = folder === null ? hooksFolder(mainRoot, env) : join(mainRoot, folder);
  const callers = namesIn(hooks).filter((name) => !name.endsWith('.sample') && callsLefthook(join(hooks, name)));
  const isFound = onPath('lefthook', env) !== null || (dir !== null && existsSync(join(dir, LEFTHOOK)));
  // Without it, the hook prints a line, and git commits as if it had passed.
  return callers.length === 0 || isFound || !existsSync(join(mainRoot, LEFTHOOK))
    ? []
    : [WORKTREE_TEXTS.hooksWithout(callers, 'lefthook', LEFTHOOK)];
}

/** Where lefthook's hooks look for it, in the work tree of the commit alone. */
const LEFTHOOK = 'node_modules/lefthook';

function callsLefthook(path: string): boolean {
  return readFileSync(path, 'utf8').includes('call_lefthook');
}

function leadsOut(folder: string): boolean {
  return normalize(folder).split('/')[0] === '..';
}

/** Returns the configured folder of the hooks if it is relative to the work tree; null otherwise. */
function relativeHooks(mainRoot: string, env: NodeJS.ProcessEnv): string | null {
  const { ok, text } = userGit(mainRoot, ['config', '--type=path', '--get', 'core.hooksPath'], env);
  const folder = text.replace(/\n$/, '');
  return !ok || folder === '' || isAbsolute(folder) ? null : folder;
}

function hooksFolder(mainRoot: string, env: NodeJS.ProcessEnv): string {
  const folder = userGit(mainRoot, ['rev-parse', '--git-path', 'hooks'], env).text.replace(/\n$/, '');
  return isAbsolute(folder) ? folder : join(mainRoot, folder);
}
