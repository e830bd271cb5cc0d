import type { LoopState } from '../../engine/schema/state.ts';
import { readContract } from '../../state/contract-store.ts';
import { log } from '../../state/log.ts';
import { beat } from '../../state/task-folder/heartbeat.ts';
import { runFiles } from '../../state/task-folder/run-files.ts';
import { hasFolder, taskFolder, taskKind } from '../../task/task-file.ts';
import type { DriverContext } from '../turn/ownership.ts';

/**
 * Shows in its task folder that a loop is alive in the middle of an iteration, at most once a minute. Whatever goes
 * wrong is logged and changes nothing. A loop on any other task is told by its name, before a file is read.
 */
export function showHeartbeat({ files, now }: DriverContext, { loopId, taskPath }: LoopState): void {
  if (!hasFolder(taskKind(taskPath))) return;
  const at = now();
  try {
    // The state lies where the agent can write: the folder is the one that the contract names.
    const contract = readContract(files)?.contract;
    if (contract?.task && contract.loopId === loopId) {
      beat(runFiles(taskFolder(files.projectDir, contract.taskPath)), loopId, at);
    }
  } catch (error) {
    log(files, at, 'mirror', (error as Error).message);
  }
}
