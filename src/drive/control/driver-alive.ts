import type { LoopState } from '../../engine/schema/state.ts';
import { runnerLives } from '../../state/lock/owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { clientAlive } from './ownership.ts';

/** Returns whether the process that drives the loop is alive; null if none is known, or the loop awaits consent. */
export function isDriverAlive(files: LoopFiles, state: LoopState): boolean | null {
  if (state.mode === 'runner') return runnerLives(files) || (state.status === 'awaiting-consent' ? null : false);
  return state.clientPid === null ? null : clientAlive(state);
}
