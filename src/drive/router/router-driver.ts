import type { Effect } from '../../engine/events.ts';
import { exitCode } from '../../engine/exit-code.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { SpawnRecord } from '../../engine/schema/records.ts';
import type { LoopState, StateOf } from '../../engine/schema/state.ts';
import { findLiveContract, type LoopFiles, readLoop } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { checkCommands, peekTdd } from '../../state/tdd-store.ts';
import { endedState } from '../../state/with-state.ts';
import type { Message } from '../../text/message.ts';
import { after, elapsed, isBefore } from '../../text/time.ts';
import { runEffects } from '../effects/run-effects.ts';
import { recordLive } from '../records/live-events.ts';
import { reportAtEnd } from '../status/end-report.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Dispatched, type Driver, dispatch, isStep, type Next, startFreshTurn } from '../turn/turn.ts';
import { waitInTurn } from '../turn/wait.ts';
import { answerAgain, assign } from './assign.ts';
import { ROUTER_TEXTS } from './messages.ts';
import type { Hold, Router, RouterAnswer, RouterOptions, StopAnswer, WaitAnswer } from './router.ts';
import { assignedSpawn, RouterLeft, readSpawn, updateSpawn } from './router.ts';

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

export function busy(files: LoopFiles, state: LoopState, hold: Hold): StopAnswer {
  const { iteration, maxIterations, sessionId, clientPid, mode, loopId } = state;
  const whose =
    mode === 'router'
      ? ROUTER_TEXTS.busy(iteration, maxIterations, clientPid)
      : ROUTER_TEXTS.otherMode(mode, iteration);
  const message = hold === 'unseen' ? { ...ROUTER_TEXTS.unseen, text: `${whose} ${ROUTER_TEXTS.unseen.text}` } : whose;
  return {
    ...stop(files, 'busy', message),
    loopId,
    next: ROUTER_TEXTS.thenBusy,
    holder: { sessionId, pid: clientPid },
  };
}

/** Answers how the last router loop here ended, or that there was none. */
export function over(files: LoopFiles, { program }: Pick<RouterOptions, 'program'>): StopAnswer {
  const loopId = readSpawn(files)?.loopId ?? null;
  const state = loopId === null ? null : endedState(files, loopId);
  if (loopId !== null && state !== null) return endAnswer(files, loopId, state.ended);
  // A loop that ended has no contract.
  const isLost = loopId !== null && findLiveContract(files, loopId) !== null;
  if (isLost) return { ...trouble(files, HOOK_TEXTS.vanished), loopId };
  const start = `${program} router start`;
  return { ...stop(files, 'none', ROUTER_TEXTS.none), next: ROUTER_TEXTS.thenNone(start) };
}

function endAnswer(
  files: LoopFiles,
  loopId: string,
  { as, message, verified, proof }: StateOf<'ended'>['ended'],
): StopAnswer {
  return { ...stop(files, as, message), loopId, verified, proof: proof ?? null };
}

export function trouble(files: LoopFiles, message: Message | string): StopAnswer {
  return stop(files, 'error', message);
}

function stop({ name }: LoopFiles, status: StopAnswer['status'], message: Message | string): StopAnswer {
  return {
    action: 'stop',
    status,
    message: show(message, { name, mode: 'router' }),
    verified: false,
    proof: null,
    exitCode: exitCode(status === 'busy' || status === 'none' ? 'error' : status),
    loopId: null,
    loop: name,
    notes: [],
    next: ROUTER_TEXTS.thenStop,
  };
}

export function waitingAnswer(router: Router, until: string): WaitAnswer {
  const { state } = router.turn.loaded;
  return timedAnswer(router, (state.status === 'waiting' && state.waiting.why) || 'idle', until);
}

function timedAnswer(router: Router, why: 'idle' | 'pace' | 'retry', until: string): WaitAnswer {
  const delayMs = Math.max(1, elapsed(router.turn.context.now(), until));
  const seconds = Math.ceil(delayMs / 1000);
  const next = (call: string): string => ROUTER_TEXTS.thenWait(call, seconds);
  return { ...wait(router, why, ROUTER_TEXTS[why](until), next), until, seconds, delayMs };
}

export function pausedAnswer(router: Place, message: Message | string): WaitAnswer {
  return { ...wait(router, 'paused', message, ROUTER_TEXTS.thenPaused), exitCode: exitCode('paused') };
}

function consentAnswer(router: Router): WaitAnswer {
  const { options, turn } = router;
  const contract = turn.loaded.stored?.contract;
  const commands = contract === undefined ? [] : checkCommands(router.files, contract);
  const settings = contract === undefined ? [] : settingsToAgreeTo(contract);
  const message = ROUTER_TEXTS.consent(`${options.program} start --consent${options.options}`, settings);
  return { ...wait(router, 'awaiting-consent', message, ROUTER_TEXTS.thenConsent), commands };
}

export function workingAnswer(router: Router): WaitAnswer {
  return { ...wait(router, 'working', ROUTER_TEXTS.working, ROUTER_TEXTS.thenWorking), seconds: 5, delayMs: 5000 };
}

/** What an answer about a loop needs. */
type Place = Pick<Router, 'files' | 'options' | 'notes'> & {
  readonly turn: { readonly loaded: Pick<Router['turn']['loaded'], 'state'> };
};

function wait(
  { files, turn, notes, options }: Place,
  why: WaitAnswer['why'],
  message: Message | string,
  next: (call: string) => string,
): WaitAnswer {
  return {
    action: 'wait',
    why,
    until: null,
    seconds: null,
    delayMs: null,
    message: show(message, turn.loaded.state),
    loopId: turn.loaded.state.loopId,
    loop: files.name,
    notes,
    next: next(`${options.program} router next${options.options}`),
  };
}

/** Options that only limit a loop. */
const LIMITS = ['max_iterations', 'max_tasks'];

/** Returns the command-line options to which the user has to agree, as `key=value`. */
function settingsToAgreeTo({ flags }: Contract): string[] {
  return Object.entries(flags).flatMap(([key, value]) => (LIMITS.includes(key) ? [] : [`${key}=${String(value)}`]));
}

/** Returns whether a loop started by an agent would run or set anything to which the user has not agreed. */
export function needsConsent(files: LoopFiles, contract: Contract): boolean {
  const { tdd, ...own } = contract;
  const isUnagreedList = tdd !== undefined && peekTdd(files)?.consented !== true;
  return isUnagreedList || settingsToAgreeTo(contract).length > 0 || checkCommands(files, own).length > 0;
}
