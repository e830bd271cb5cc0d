import type { LoopState } from '../core/schema/state.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { runnerLives } from './runner/lease-holder.ts';
import { clientAlive } from './turn/ownership.ts';

/**
 * Whether somebody works on a loop: its client, or its runner, whose agents come and go. null while no client is bound,
 * or none whose process is known, and while a loop for a runner awaits consent: nobody is to work on it yet.
 */
export function driverLives(files: LoopFiles, state: LoopState): boolean | null {
  if (state.mode === 'runner') return runnerLives(files) || (state.status === 'awaiting-consent' ? null : false);
  return state.clientPid === null ? null : clientAlive(state);
}
