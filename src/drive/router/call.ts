import type { LoopState } from '../../engine/schema/state.ts';
import { hostSession } from '../../hosts/claude/host-session.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { onSignals } from '../../state/process/signals.ts';
import { endedState } from '../../state/with-state.ts';
import { RalphError } from '../../text/message.ts';
import { isBefore } from '../../text/time.ts';
import { applyFlagFiles } from '../control/operate.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { standing } from '../status/ended-loop.ts';
import { waitUntil } from '../turn/wait.ts';
import { takeBusyLock } from './holder.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { openRouter } from './open-router.ts';
import { type Report, report, uncounted } from './report.ts';
import type { Router, RouterAnswer, RouterOptions, StopAnswer, WaitAnswer } from './router.ts';
import { RouterLeft } from './router.ts';
import { answerNow, trouble, waitingAnswer, workingAnswer } from './router-driver.ts';

const BUSY_WAIT_MS = 20_000;
/** Poll interval for the exit of the client whose shell made the call. */
const POLL_MS = 2_000;

/** Answers a call of the host; `told` is its report. null, with the loop unchanged, if this process had to exit. */
export async function routerCall(
  files: LoopFiles,
  options: Omit<RouterOptions, 'signal'>,
  told: Report | null,
): Promise<RouterAnswer | null> {
  const gone = new AbortController();
  const unwatch = watchForExit(options.env, gone);
  try {
    return await call(files, { ...options, signal: gone.signal }, told);
  } catch (error) {
    if (error instanceof RouterLeft) return null;
    if (!(error instanceof RalphError) || error.code !== 'state-fenced') throw error;
    // Another session has taken the loop over.
    const opened = openRouter(files, { ...options, signal: gone.signal });
    return 'action' in opened ? opened : trouble(files, ROUTER_TEXTS.fenced);
  } finally {
    unwatch();
  }
}

async function call(files: LoopFiles, options: RouterOptions, told: Report | null): Promise<RouterAnswer> {
  const opened = openRouter(files, options);
  if ('action' in opened) return unheard(files, opened, told);
  const { state } = opened.turn.loaded;
  if (state.status === 'awaiting-consent') await untilAgreed(opened);
  // A waiting call holds the lock for long, and its answer is known.
  const busyWait = waitsUntil(state, options.now()) === null ? BUSY_WAIT_MS : 0;
  const until = Math.max(options.sitUntil, Date.now() + busyWait);
  const done = await takeBusyLock(files, state.epoch, until, options.signal);
  if (done === null) return meanwhile(files, options, told);
  try {
    const contract = opened.turn.loaded.stored?.contract;
    const isOurs = ({ loopId }: LoopState): boolean => loopId === contract?.loopId;
    if (contract !== undefined) applyFlagFiles(files, options.env, options.now(), contract, { isOurs });
    // The loop may have changed while another call worked on it.
    const router = openRouter(files, options);
    if ('action' in router) return unheard(files, router, told);
    router.notes.unshift(...opened.notes);
    const answer = await (told === null ? answerNow(router) : report(router, told));
    const { state: now } = standing(files, state.loopId);
    if (now !== null) await exportTelemetry(files, now, options.env);
    return answer;
  } finally {
    done();
  }
}

/** Waits, as long as this call may last, until the user has agreed or something else has changed. Holds no lock. */
async function untilAgreed({ turn, options }: Router): Promise<void> {
  const { loaded } = turn;
  const times = { until: options.sitUntil, deadline: options.sitUntil };
  const end = await waitUntil(turn, { ...times, signal: turn.signal(), state: loaded.state, taskPath: null });
  if (end === 'aborted') throw new RouterLeft();
}

/** Names a report to a loop that has ended or that this host does not hold, unless it only repeats the last one. */
function unheard(files: LoopFiles, answer: StopAnswer | WaitAnswer, told: Report | null): RouterAnswer {
  if (told === null) return answer;
  const state = answer.loopId === null ? null : endedState(files, answer.loopId);
  return { ...answer, notes: [...answer.notes, ...uncounted(state, told)] };
}

function meanwhile(files: LoopFiles, options: RouterOptions, told: Report | null): RouterAnswer {
  const router = openRouter(files, options);
  if ('action' in router) return unheard(files, router, told);
  const { state } = router.turn.loaded;
  if (told !== null && uncounted(state, told).length > 0) router.notes.push(ROUTER_TEXTS.notTaken);
  const until = waitsUntil(state, options.now());
  return until === null ? workingAnswer(router) : waitingAnswer(router, until);
}

function waitsUntil(state: LoopState, now: string): string | null {
  if (state.status !== 'waiting' || state.waiting.woken) return null;
  return isBefore(now, state.waiting.until) ? state.waiting.until : null;
}

/** Aborts on a signal and when the client exits, since neither needs an answer. */
function watchForExit(env: NodeJS.ProcessEnv, gone: AbortController): () => void {
  const go = (): void => gone.abort(new RouterLeft());
  const quiet = onSignals({ press: go, leave: go });
  const { clientPid, clientStartedAt } = hostSession(env);
  const timer = setInterval(() => {
    if (clientPid !== null && !isAlive({ pid: clientPid, startedAt: clientStartedAt })) go();
  }, POLL_MS).unref();
  return () => {
    clearInterval(timer);
    quiet();
  };
}
