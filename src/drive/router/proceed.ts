import type { Effect } from '../../engine/effects.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readState } from '../../state/read-state.ts';
import { after, isBefore } from '../../text/instant.ts';
import { carryOutAlike, look, verifyStep } from '../turn/shared-steps.ts';
import { beginAnew, feed } from '../turn/turn.ts';
import { waitOut } from '../turn/wait.ts';
import { handOut, handOutAgain } from './assign.ts';
import type { RouterAnswer, StopAnswer } from './router.ts';
import { notesOf, type Router, RouterLeft } from './router.ts';
import { spawnInHand } from './spawn-record.ts';
import { consentAnswer, endAnswer, over, pausedAnswer, waitingAnswer, workingAnswer } from './status-answers.ts';

/** How often somebody else's word may come in between before the host is asked to call again. */
const MOST_TURNS = 20;

/** What the host has to do now, by how the loop stands. Throws RouterLeft where this process was told to go. */
export function answerNow(router: Router): Promise<RouterAnswer> {
  return proceed(router, []);
}

/** Carries out what the engine decided, and what follows from how the loop then stands, until that is an answer. */
export async function proceed(router: Router, decided: readonly Effect[]): Promise<RouterAnswer> {
  const { turn, options } = router;
  let effects = decided;
  for (let turns = 0; turns < MOST_TURNS; ) {
    const step = carryOutAlike(turn, effects);
    for (const effect of effects) if (effect.type === 'notify') turn.notes.push(effect.message);
    if (options.signal.aborted) throw new RouterLeft();
    switch (step?.type) {
      case 'prompt': {
        const given = await handOut(router, step);
        if ('answer' in given) return given.answer;
        effects = given.meanwhile;
        break;
      }
      case 'wait': {
        if (turn.task) turn.task.waited = true;
        const after = await sitOut(router, step.until);
        if (after === null) return waitingAnswer(router, step.until);
        effects = after;
        break;
      }
      case 'look':
        effects = await look(turn);
        break;
      case 'verify':
        options.tell({ type: 'verifying' });
        effects = await verifyStep(turn);
        break;
      case 'allow':
      case 'ignore':
      case undefined: {
        turns += 1;
        const standing = stands(router);
        if ('action' in standing) return standing;
        effects = standing;
        break;
      }
      default:
        step satisfies never;
    }
  }
  return workingAnswer(router);
}

/** What follows from how the loop stands on the disk: an answer, or what is to be done about it first. */
function stands(router: Router): RouterAnswer | readonly Effect[] {
  const { files, turn, options } = router;
  const { loopId } = turn.loaded.state;
  const current = readState(files.state);
  if (current.kind !== 'loop' || current.state.loopId !== loopId) {
    const { state } = turn.loaded;
    return told(router, state.status === 'ended' ? endAnswer(files, loopId, state.ended) : over(files, options));
  }
  turn.loaded = { ...turn.loaded, state: current.state };
  return byStatus(router, current.state);
}

function byStatus(router: Router, state: LoopState): RouterAnswer | readonly Effect[] {
  const { files, turn } = router;
  const now = turn.context.now();
  switch (state.status) {
    case 'running': {
      const inHand = spawnInHand(files, state);
      return inHand === null ? beginAnew(turn) : handOutAgain(router, inHand);
    }
    case 'waiting':
      if (!state.waiting.woken) return [{ type: 'wait', until: state.waiting.until }];
      return feed(turn, { type: 'time-passed', at: now, cause: 'elapsed', seen: null });
    case 'verifying':
      return [{ type: 'verify' }];
    case 'paused':
      return pausedAnswer(router, state.paused.message);
    case 'awaiting-consent':
      return consentAnswer(router);
    case 'ended':
      return told(router, endAnswer(files, state.loopId, state.ended));
    default:
      return state satisfies never;
  }
}

function told(router: Router, answer: StopAnswer): StopAnswer {
  return { ...answer, notes: notesOf(router) };
}

/** What follows when the wait is over, or null where it is not for longer than this call may last. */
async function sitOut({ turn, options }: Router, until: string): Promise<readonly Effect[] | null> {
  const { context, loaded } = turn;
  const { state } = loaded;
  const pace = state.status === 'waiting' && state.waiting.why === 'pace';
  const end = await waitOut(context, {
    until: Math.min(Date.parse(until), Math.max(Date.now(), options.sitUntil)),
    deadline: Number.POSITIVE_INFINITY,
    signal: options.signal,
    state,
    taskPath: pace ? null : state.taskPath,
  });
  if (end === 'aborted') throw new RouterLeft();
  const at = context.now();
  // Where the clock stands before the wait began, it was set back: the engine lets the wait begin anew.
  const began = state.status === 'waiting' ? after(until, -state.waiting.delayMs) : until;
  if (end === 'elapsed' && isBefore(at, until) && !isBefore(at, began)) return null;
  return feed(turn, { type: 'time-passed', at, cause: end === 'changed' ? 'changed' : 'elapsed', seen: null });
}
