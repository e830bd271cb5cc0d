import type { Effect } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { SpawnRecord } from '../../engine/schema/stored-views.ts';
import { readLoop } from '../../state/loop-files.ts';
import { endedState } from '../../state/with-state.ts';
import { after, isBefore } from '../../text/time.ts';
import { runEffects } from '../effects/run-effects.ts';
import { recordLive } from '../records/live-events.ts';
import { reportAtEnd } from '../status/end-report.ts';
import { type Dispatched, type Driver, dispatch, isStep, type Next, startFreshTurn } from '../turn/turn.ts';
import { waitInTurn } from '../turn/wait.ts';
import { answerAgain, assign } from './assign.ts';
import type { Router, RouterAnswer, StopAnswer } from './router.ts';
import { assignedSpawn, RouterLeft, updateSpawn } from './router.ts';
import {
  consentAnswer,
  endAnswer,
  over,
  pausedAnswer,
  timedAnswer,
  waitingAnswer,
  workingAnswer,
} from './status-answers.ts';

/** Maximum number of external changes that one call handles before the host has to call again. */
const MOST_RELEASES = 20;

/** Answers what the host has to do next, depending on the loop's status. Throws RouterLeft if this process was told to exit. */
export function answerNow(router: Router): Promise<RouterAnswer> {
  return answerAfter(router, { turn: router.turn, effects: [] });
}

/** Runs the effects of a report, and those that follow, until there is an answer. */
export function answerAfter(router: Router, { turn, effects }: Dispatched): Promise<RouterAnswer> {
  return runEffects(turn, routerDriver(router), effects);
}

function routerDriver(router: Router): Driver<RouterAnswer> {
  const { notes, options } = router;
  const record = recordLive(router.files, router.turn.loaded.state, options.tell);
  let releases = 0;
  return {
    deliver: async (turn, prompt) => ({ answer: assign({ ...router, turn }, prompt) }),
    wait: (turn, until) => waitInCall({ ...router, turn }, until),
    release: async (turn) => {
      const next = await byState({ ...router, turn });
      releases += 1;
      if ('answer' in next) return { answer: await withReport(router, next.answer) };
      return releases < MOST_RELEASES ? next : { answer: workingAnswer({ ...router, turn }) };
    },
    notify: (_, message) => void notes.push(message),
    tell: (_, event) => record(event),
    leave: () => {
      throw new RouterLeft();
    },
  };
}

async function byState(router: Router): Promise<Next<RouterAnswer>> {
  const { files, turn, options } = router;
  const { state } = turn.loaded;
  const current = readLoop(files, state.loopId);
  if (current !== null) {
    const loaded = { ...turn.loaded, state: current };
    return byStatus({ ...router, turn: { ...turn, loaded } }, current);
  }
  const ended = state.status === 'ended' ? endAnswer(files, state.loopId, state.ended) : over(files, options);
  return { answer: withNotes(router, ended) };
}

async function byStatus(router: Router, state: LoopState): Promise<Next<RouterAnswer>> {
  const { files, turn } = router;
  const next = (effect: Effect): Dispatched => ({ turn, effects: [effect] });
  switch (state.status) {
    case 'running': {
      const assigned = assignedSpawn(files, state);
      if (assigned === null) return startFreshTurn(turn);
      if (assigned.retryAt === undefined) return { answer: answerAgain(router, assigned) };
      return isBefore(turn.context.now(), assigned.retryAt)
        ? waitForRetry(router, assigned.retryAt)
        : retry(router, assigned);
    }
    case 'waiting':
      if (!state.waiting.woken) return next({ type: 'wait', until: state.waiting.until });
      return dispatch(turn, { type: 'time-passed', at: turn.context.now(), cause: 'elapsed', seen: null });
    case 'verifying':
      return next({ type: 'verify' });
    case 'paused':
      return { answer: pausedAnswer(router, state.paused.message) };
    case 'awaiting-consent':
      return { answer: consentAnswer(router) };
    case 'ended':
      return { answer: withNotes(router, endAnswer(files, state.loopId, state.ended)) };
    default:
      return state satisfies never;
  }
}

function withNotes(router: Router, answer: StopAnswer): StopAnswer {
  return { ...answer, notes: router.notes };
}

async function waitForRetry(router: Router, until: string): Promise<Next<RouterAnswer>> {
  const end = await waitInTurn(router.turn, until, Math.max(Date.now(), router.options.sitUntil));
  if (end === 'aborted') throw new RouterLeft();
  if (end === 'state-changed') return byState(router);
  const assigned = end === 'deadline' ? null : assignedSpawn(router.files, router.turn.loaded.state);
  return assigned === null ? { answer: timedAnswer(router, 'retry', until) } : retry(router, assigned);
}

/** Assigns a spawn again as another attempt at its iteration, unless the loop has reached a limit meanwhile. */
function retry(router: Router, assigned: SpawnRecord): Next<RouterAnswer> {
  const { turn, files } = router;
  const begun = dispatch(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'ready' });
  if (begun.effects.some(isStep)) return begun;
  updateSpawn(files, assigned, { retryAt: undefined });
  return { answer: answerAgain({ ...router, turn: begun.turn }, assigned) };
}

async function withReport({ files, options }: Router, answer: RouterAnswer): Promise<RouterAnswer> {
  if (answer.action !== 'stop' || answer.loopId === null) return answer;
  const report = await reportAtEnd(files, endedState(files, answer.loopId), options.env);
  return report === null ? answer : { ...answer, report };
}

/** Waits as long as this call may last, then answers with the time until which the host has to wait. */
async function waitInCall(router: Router, until: string): Promise<Next<RouterAnswer>> {
  const { turn, options } = router;
  const { state } = turn.loaded;
  const end = await waitInTurn(turn, until, Math.max(Date.now(), options.sitUntil));
  if (end === 'aborted') throw new RouterLeft();
  const at = turn.context.now();
  // The clock was set back to before the start of the wait: the engine restarts the wait.
  const began = state.status === 'waiting' ? after(until, -state.waiting.delayMs) : until;
  const isOver = end === 'elapsed' || end === 'deadline';
  if (isOver && isBefore(at, until) && !isBefore(at, began)) return { answer: waitingAnswer(router, until) };
  return dispatch(turn, { type: 'time-passed', at, cause: end === 'changed' ? 'changed' : 'elapsed', seen: null });
}
