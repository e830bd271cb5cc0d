import type { StoredContract } from '../../engine/schema/contract.ts';
import type { LiveState } from '../../engine/schema/state.ts';
import { liveContract } from '../../state/evidence/evidence.ts';
import { evidenceLost } from '../../state/evidence/evidence-lost.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { findContract, findEndedContract, findLiveContract, readContract, readState } from '../../state/loop-files.ts';
import { boundLoop, drivenElsewhere, loopOfSession, ownership, routersOwn, runnersOwn } from '../control/ownership.ts';

/** Loop whose rules apply to a tool call; only its files are guarded if its state is unreadable or others drive it. */
export type Guarded = LiveState | 'unreadable' | 'others';

/** Returns the loop whose rules apply here: this session's, or an unbound one. Throws `evidence-lost`. */
export async function guardedLoop(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  sessionId: string,
): Promise<Guarded | 'none'> {
  const current = readState(files.state);
  if (current.kind === 'absent') return withoutState(files, loopOfSession(files, env, sessionId));
  if (current.kind !== 'loop') return 'unreadable';
  const { state } = current;
  // The contract of a loop that has ended is set aside with its state; a state alone can be rewritten.
  if (state.status === 'ended') return withoutState(files, loopOfSession(files, env, sessionId));
  const launched = env['RALPH_LOOP_ID'];
  // Another loop can have taken the place of the launched one; its contract says so.
  if (launched && launched !== state.loopId && findLiveContract(files, launched) !== null) return 'unreadable';
  if (drivenElsewhere(env)) {
    const isRunners = state.mode === 'runner' && runnersOwn(state.loopId, env);
    return isRunners || routersOwn(state, env, sessionId) ? state : 'others';
  }
  if (ownership(state, env, sessionId) !== 'foreign') return state;
  // A program that rewrites the state frees no session.
  return withoutState(files, boundLoop(files, env, sessionId));
}

/** Judges a session whose loop has no state of its own: unless the loop has ended, its contract still names it. */
async function withoutState(files: LoopFiles, loopId: string | null): Promise<'unreadable' | 'none'> {
  // Rules apply only to a client that is in a loop.
  if (loopId === null) return 'none';
  if (findLiveContract(files, loopId) !== null) return 'unreadable';
  if (findEndedContract(files, loopId) !== null) return 'none';
  const { archivedLoops } = await import('../../state/with-state.ts');
  if ([...archivedLoops(files)].some(({ state }) => state.loopId === loopId)) return 'none';
  throw evidenceLost(files.contract, findContract(files) === 'unreadable' ? 'torn' : 'missing');
}

/** Returns the contract whose rules apply to a loop; null if it has none. Throws `evidence-lost`. */
export function contractOf(files: LoopFiles, loop: Guarded): StoredContract | null {
  return typeof loop === 'string' ? readContract(files) : liveContract(files, loop);
}
