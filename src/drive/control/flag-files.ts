import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type LoopFiles, orLogged, readState } from '../../state/loop-files.ts';
import { runFiles, takeFlags } from '../../state/task-folder/run-files.ts';
import { hasTaskFolder, taskFolder } from '../../task/task-file.ts';
import { operate } from './operate.ts';

interface FlagsOf {
  readonly isOurs: (state: LoopState) => boolean;
  readonly beforeCancel?: (state: LoopState) => void;
}

/** Applies the stop and cancel flags in the task folder of a live loop. Returns whether it was cancelled. */
export function applyFlagFiles(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  contract: Contract,
  { isOurs, beforeCancel }: FlagsOf,
): boolean {
  if (!hasTaskFolder(contract)) return false;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended' || !isOurs(current.state)) return false;
  const run = runFiles(taskFolder(files.projectDir, contract.taskPath));
  const { stop = false, cancel = false } = orLogged(files, at, 'flags', () => takeFlags(run)) ?? {};
  if (cancel) {
    beforeCancel?.(current.state);
    operate(files, env, at, () => ({ kind: 'cancel', flag: true }));
  } else if (stop) operate(files, env, at, () => ({ kind: 'stop', clientAlive: true, flag: true }));
  return cancel;
}
