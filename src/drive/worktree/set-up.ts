import type { Sandbox } from '../../engine/schema/contract.ts';
import { runSetUp } from '../../task/commands/run-set-up.ts';
import { RalphError } from '../../text/message.ts';
import { copyIgnored, copyIncluded, INCLUDE_FILE } from './copy-task.ts';
import { hookProblems, takeHooks } from './hooks.ts';
import { ignoredFiles, stampsOf } from './ignored-files.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { repositoryOf } from './repository.ts';
import { checkOutSubmodules } from './submodules.ts';
import { readWorktreeRecord, type WorktreePlace, writeWorktreeRecord } from './worktree-place.ts';

export interface SetUp {
  /** The main project, absolute. */
  readonly projectDir: string;
  /** Set-up command of the user; null if there is none. */
  readonly command: string | null;
  /** Globs of the ignored files to copy. */
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
  if (failed !== null) {
    throw new RalphError('refused', WORKTREE_TEXTS.setUpFailed(command ?? '', failed.how, failed.output, name));
  }
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
