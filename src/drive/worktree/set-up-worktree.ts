import { RalphError } from '../../core/ralph-error.ts';
import { type CommandOutcome, runCommand } from '../../task/run-command.ts';
import { WORKTREE_TEXTS } from './texts.ts';
import type { WorktreePlace } from './worktree-place.ts';
import { readWorktreeRecord, writeWorktreeRecord } from './worktree-record.ts';

export interface SetUp {
  /** Of the main project. */
  readonly projectDir: string;
  /** The user's own; null where there is nothing to do. */
  readonly command: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

/** Installing what a project needs takes minutes; what takes an hour hangs. */
const TIME_MS = 60 * 60_000;

/**
 * Runs the user's set-up command in a new worktree, with RALPH_MAIN_PROJECT naming the project that it was made from,
 * and notes that it is done. Throws `refused` with what it said where it fails; the next run then tries it again.
 * Rejects with the signal's reason, once nothing of it is left.
 */
export async function setUpWorktree({ projectDir, name }: WorktreePlace, setUp: SetUp): Promise<void> {
  const { command, env, signal } = setUp;
  if (command !== null) {
    setUp.tell(WORKTREE_TEXTS.settingUp(command));
    const { end, output } = await runCommand({
      run: command,
      directory: projectDir,
      env: { ...env, RALPH_MAIN_PROJECT: setUp.projectDir },
      timeoutMs: TIME_MS,
      signal,
    });
    if (end.kind !== 'exit' || end.code !== 0) {
      throw new RalphError('refused', WORKTREE_TEXTS.setUpFailed(command, howText(end), output.text(), name));
    }
  }
  const record = readWorktreeRecord(setUp.projectDir, name, env);
  if (record !== null) writeWorktreeRecord(setUp.projectDir, name, env, { ...record, step: 'ready' });
}

function howText(end: CommandOutcome['end']): string {
  switch (end.kind) {
    case 'exit':
      return `exit code ${end.code}`;
    case 'signal':
      return `ended by ${end.signal}`;
    case 'timeout':
      return 'it took longer than an hour';
    case 'unavailable':
      return end.why;
    default:
      return end satisfies never;
  }
}
