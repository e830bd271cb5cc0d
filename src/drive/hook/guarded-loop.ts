import type { LiveState } from '../../engine/schema/state.ts';
import { evidenceLost } from '../../state/evidence/evidence.ts';
import type { FoundLoop, LoopFiles } from '../../state/loop-files.ts';
import { contractIfOf, findContract, findEndedContract } from '../../state/loop-files.ts';
import { boundLoop, drivenElsewhere, loopOfSession, ownership, routersOwn, runnersOwn } from '../control/ownership.ts';

/** Loop whose rules apply to a tool call; if its state is unreadable or others drive it, only its files are guarded. */
export type Guarded = LiveState | 'unreadable' | 'others';

/** Returns the loop whose rules apply here, by what was found: this session's or an unbound one. Throws `evidence-lost`. */
export async function guardedLoop(
  found: FoundLoop,
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  sessionId: string,
): Promise<Guarded | 'none'> {
  const loop = judgeWhose(found, env, sessionId);
  return typeof loop === 'object' && 'gone' in loop ? afterEnd(files, loop.gone) : loop;
}

/** Decides whose rules apply; `gone` is the loop of a session that has neither a state nor a contract any more. */
function judgeWhose(
  { state: current, ...records }: FoundLoop,
  env: NodeJS.ProcessEnv,
  sessionId: string,
): Guarded | 'none' | { readonly gone: string } {
  if (current.kind !== 'loop' && current.kind !== 'absent') return 'unreadable';
  const live = current.kind === 'loop' && current.state.status !== 'ended' ? current.state : null;
  const launched = env['RALPH_LOOP_ID'];
  // Another loop may have replaced the launched one, as its contract shows.
  if (live && launched && launched !== live.loopId && contractIfOf(launched, records.contract)) return 'unreadable';
  if (live && drivenElsewhere(env)) {
    const isRunners = live.mode === 'runner' && runnersOwn(live.loopId, env);
    return isRunners || routersOwn(live, env, sessionId) ? live : 'others';
  }
  if (live && ownership(live, env, sessionId) !== 'foreign') return live;
  // Rewriting the state frees no session: the contract names its loop, and is moved aside together with it at its end.
  const loopId = live ? boundLoop(records, env, sessionId) : loopOfSession(records, env, sessionId);
  // Rules apply only to a client that is in a loop.
  if (loopId === null) return 'none';
  return contractIfOf(loopId, records.contract) ? 'unreadable' : { gone: loopId };
}

/** Reads whether a loop has ended. Throws `evidence-lost` if nothing shows it. */
async function afterEnd(files: LoopFiles, loopId: string): Promise<'unreadable' | 'none'> {
  if (findEndedContract(files, loopId) !== null) return 'none';
  const { archivedLoops } = await import('../../state/with-state.ts');
  if ([...archivedLoops(files)].some(({ state }) => state.loopId === loopId)) return 'none';
  const now = findContract(files);
  // The loop has begun since its contract was read.
  if (contractIfOf(loopId, now) !== null) return 'unreadable';
  throw evidenceLost(files.contract, now === 'unreadable' ? 'torn' : 'missing');
}
