import { hostSession } from '../../claude/host-session.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { isBefore } from '../../text/instant.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { applyFlagFiles } from '../control/flag-files.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { standing } from '../status/ended-loop.ts';
import { takeBusyLock } from './holder.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { openRouter } from './open.ts';
import { type Report, report } from './report.ts';
import type { RouterAnswer } from './router.ts';
import { RouterLeft, type RouterOptions } from './router.ts';
import { answerNow } from './router-driver.ts';
import { trouble, waitingAnswer, workingAnswer } from './status-answers.ts';

const BUSY_WAIT_MS = 20_000;
/** Poll interval for the exit of the client from whose shell the call came. */
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
  if ('action' in opened) return opened;
  const { state } = opened.turn.loaded;
  // A call that waits does so for long, and its answer is known.
  const busyWait = waitsUntil(state, options.now()) === null ? BUSY_WAIT_MS : 0;
  const until = Math.max(options.sitUntil, Date.now() + busyWait);
  const done = await takeBusyLock(files, state.epoch, until, options.signal);
  if (done === null) return meanwhile(files, options);
  try {
    const contract = opened.turn.loaded.stored?.contract;
    const isOurs = ({ loopId }: LoopState): boolean => loopId === contract?.loopId;
    if (contract !== undefined) applyFlagFiles(files, options.env, options.now(), contract, { isOurs });
    // The loop may have changed while another call worked on it.
    const router = openRouter(files, options);
    if ('action' in router) return router;
    router.notes.unshift(...opened.notes);
    const answer = await (told === null ? answerNow(router) : report(router, told));
    const { state: now } = standing(files, state.loopId);
    if (now !== null) await exportTelemetry(files, now, options.env);
    return answer;
  } finally {
    done();
  }
}

function meanwhile(files: LoopFiles, options: RouterOptions): RouterAnswer {
  const router = openRouter(files, options);
  if ('action' in router) return router;
  const until = waitsUntil(router.turn.loaded.state, options.now());
  return until === null ? workingAnswer(router) : waitingAnswer(router, until);
}

function waitsUntil(state: LoopState, now: string): string | null {
  if (state.status !== 'waiting' || state.waiting.woken) return null;
  return isBefore(now, state.waiting.until) ? state.waiting.until : null;
}

/** Aborts on a signal and when the client exits, since neither needs an answer. */
function watchForExit(env: NodeJS.ProcessEnv, gone: AbortController): () => void {
  const go = (): void => gone.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, go);
  const { clientPid, clientStartedAt } = hostSession(env);
  const timer = setInterval(() => {
    if (clientPid !== null && !isAlive({ pid: clientPid, startedAt: clientStartedAt })) go();
  }, POLL_MS).unref();
  return () => {
    clearInterval(timer);
    for (const name of signals) process.off(name, go);
  };
}
