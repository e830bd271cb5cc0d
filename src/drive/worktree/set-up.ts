import { cpSync, existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { namesIn } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { runSetUp } from '../../task/commands/run-command.ts';
import { RalphError } from '../../text/message.ts';
import { copyIgnored, copyIncluded, INCLUDE_FILE } from './copy-task.ts';
import { ignoredFiles, stampsOf } from './ignored-files.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { repositoryOf, userGit } from './repository.ts';
import { checkOutSubmodules } from './submodules.ts';
import { readWorktreeRecord, type WorktreePlace, writeWorktreeRecord } from './worktree-place.ts';

interface SetUp {
  /** The main project, absolute. */
  readonly projectDir: string;
  /** Set-up command of the user; null if there is none. */
  readonly command: string | null;
  readonly copies: readonly string[];
  readonly sandbox: Sandbox | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

/** Sets up a new worktree and records success. Throws `refused` with the output of the command that failed. */
export async function setUpWorktree(place: WorktreePlace, setUp: SetUp): Promise<void> {
  const { projectDir, command, copies, env } = setUp;
  const { name } = place;
  const failed = await furnish(place, setUp);
  if (failed !== null)
    throw new RalphError('refused', WORKTREE_TEXTS.setUpFailed(command ?? '', failed.how, failed.output, name));
  const record = readWorktreeRecord(projectDir, name, env);
  if (record === null) return;
  const ours = stampsOf(place.dir, ignoredFiles(place.dir, env));
  writeWorktreeRecord(projectDir, name, env, { ...record, step: 'ready', ours, setUp: command, copies });
}

/**
 * Gives a checkout what the main one has and git does not bring: hooks, submodules, ignored files that the user names, and what the
 * set-up command makes. Returns how that command failed, or null.
 */
export async function furnish({ dir, projectDir }: Pick<WorktreePlace, 'dir' | 'projectDir'>, setUp: SetUp) {
  const { command, copies, sandbox, env, signal, tell } = setUp;
  const { root } = repositoryOf(setUp.projectDir, env);
  takeHooks(root, dir, env);
  const empty = checkOutSubmodules(root, dir, env);
  if (empty.length > 0) tell(WORKTREE_TEXTS.emptySubmodules(empty, dir));
  const copied = copyIgnored(setUp.projectDir, projectDir, copies, env);
  if (copied.length > 0) tell(WORKTREE_TEXTS.copiedIgnored(copied, 'worktree_copy'));
  const included = copyIncluded(root, dir, env);
  if (included.length > 0) tell(WORKTREE_TEXTS.copiedIgnored(included, INCLUDE_FILE));
  const own = { ...env, RALPH_MAIN_PROJECT: setUp.projectDir };
  if (command !== null) tell(WORKTREE_TEXTS.settingUp(command));
  const failed = command === null ? null : await runSetUp(command, projectDir, { sandbox, signal, env: own });
  if (failed === null) for (const problem of hookProblems(root, dir, env)) tell(problem);
  return failed;
}

/**
 * Copies the folder of a relative `core.hooksPath` into a worktree that lacks it, as `.husky/_`, which git ignores: commits there
 * then run the hooks of the main checkout, in the worktree. Copies nothing that is there.
 */
function takeHooks(mainRoot: string, dir: string, env: NodeJS.ProcessEnv): void {
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
  const named = namesIn(hooks).filter((name) => !name.endsWith('.sample'));
  const callers = named.filter((name) => readFileSync(join(hooks, name), 'utf8').includes('call_lefthook'));
  const isFound = onPath('lefthook', env) !== null || (dir !== null && existsSync(join(dir, LEFTHOOK)));
  // Without it, the hook prints a line, and git commits as if it had passed.
  return callers.length === 0 || isFound || !existsSync(join(mainRoot, LEFTHOOK))
    ? []
    : [WORKTREE_TEXTS.hooksWithout(callers, 'lefthook', LEFTHOOK)];
}

/** Where lefthook's hooks look for it, in the work tree of the commit alone. */
const LEFTHOOK = 'node_modules/lefthook';

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
