import type { LoopState } from '../../engine/schema/state.ts';
import { log, readContract } from '../../state/loop-files.ts';
import { beat, runFiles } from '../../state/task-folder/run-files.ts';
import { hasFolder, taskFolder, taskKind } from '../../task/task-file.ts';
import type { DriverContext } from '../turn/ownership.ts';

/** Records a heartbeat in the task folder, at most once a minute. Failures are logged. */
export function showHeartbeat({ files, now }: DriverContext, { loopId, taskPath }: LoopState): void {
  if (!hasFolder(taskKind(taskPath))) return;
  const at = now();
  try {
    // The agent can write the state, so the folder is the one that the contract names.
    const contract = readContract(files)?.contract;
    if (contract?.task && contract.loopId === loopId) {
      beat(runFiles(taskFolder(files.projectDir, contract.taskPath)), loopId, at);
    }
  } catch (error) {
    log(files, at, 'mirror', (error as Error).message);
  }
}
