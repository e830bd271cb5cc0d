import { existsSync } from 'node:fs';
import type { Contract, StoredContract } from '../../engine/schema/contract.ts';
import type { LiveState } from '../../engine/schema/state.ts';
import { evidenceLost } from '../../state/evidence/evidence-lost.ts';
import { liveContract } from '../../state/evidence/live-contract.ts';
import { findContract, findEndedContract, type LoopFiles, readContract, readState } from '../../state/loop-files.ts';
import { runFiles } from '../../state/task-folder/run-files.ts';
import { hasTaskFolder, taskFolder } from '../../task/task-file.ts';
import { type DriverContext, drivenElsewhere, ownership, routersOwn, runnersOwn } from '../control/ownership.ts';

/** Loop whose rules apply to a tool call; only its files are guarded if its state is unreadable or others drive it. */
export type Guarded = LiveState | 'unreadable' | 'others';

/** Returns the loop whose rules apply here: this session's, or an unbound one. Throws `evidence-lost`. */
export async function guardedLoop(context: DriverContext): Promise<Guarded | 'none'> {
  const { env, files } = context;
  const current = readState(files.state);
  if (current.kind === 'absent') return withoutState(context);
  if (current.kind !== 'loop') return 'unreadable';
  const { state } = current;
  if (state.status === 'ended') return 'none';
  const launched = env['RALPH_LOOP_ID'];
  // Another loop can have taken the place of the launched one; its contract says so.
  if (launched && launched !== state.loopId && contractNames(files, launched)) return 'unreadable';
  if (drivenElsewhere(env)) {
    const ours = (state.mode === 'runner' && runnersOwn(state.loopId, env)) || routersOwn(state, context);
    return ours ? state : 'others';
  }
  return ownership(state, context) === 'foreign' ? 'none' : state;
}

/** Returns the contract whose rules apply to a loop; null if it has none. Throws `evidence-lost`. */
export function contractOf(files: LoopFiles, loop: Guarded): StoredContract | null {
  return typeof loop === 'string' ? readContract(files) : liveContract(files, loop);
}

/** Returns whether a session's loop may have to end before this call: a cancel flag lies in its folder, or it has a budget. */
export function mayEnd(
  { projectDir }: Pick<LoopFiles, 'projectDir'>,
  loop: LiveState,
  { contract }: StoredContract,
): boolean {
  if (loop.mode !== 'hook') return false;
  const { maxCostUsd, maxTokens, maxTimeMs } = contract.policy.budget;
  return (maxCostUsd ?? maxTokens ?? maxTimeMs) !== null || hasCancelFlag({ projectDir }, contract);
}

export function hasCancelFlag({ projectDir }: Pick<LoopFiles, 'projectDir'>, contract: Contract): boolean {
  const folder = hasTaskFolder(contract) ? taskFolder(projectDir, contract.taskPath) : null;
  return folder !== null && existsSync(runFiles(folder).cancelFlag);
}

/** Returns whether the contract is that of this loop. */
function contractNames(files: LoopFiles, loopId: string): boolean {
  const found = findContract(files);
  return typeof found !== 'string' && found.contract.loopId === loopId;
}

/**
 * Judges a session whose loop has no state: its client was started for a loop that has not ended, so that its contract still
 * applies. Throws `evidence-lost` if that is gone as well.
 */
async function withoutState({ env, files }: DriverContext): Promise<'unreadable' | 'none'> {
  const loopId = env['RALPH_LOOP_ID'];
  if (!loopId) return 'none';
  if (contractNames(files, loopId)) return 'unreadable';
  if (findEndedContract(files, loopId) !== null) return 'none';
  const { archivedLoops } = await import('../../state/with-state.ts');
  if ([...archivedLoops(files)].some(({ state }) => state.loopId === loopId)) return 'none';
  throw evidenceLost(files.contract, findContract(files) === 'unreadable' ? 'torn' : 'missing');
}
