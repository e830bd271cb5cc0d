import { hostSession } from '../../claude/host-session.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { isBefore } from '../../text/instant.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { applyFlagFiles } from '../control/flag-files.ts';
import { takeBusyLock } from './holder.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { openRouter } from './open.ts';
import { type Report, report } from './report.ts';
import type { RouterAnswer } from './router.ts';
import { RouterLeft, type RouterOptions } from './router.ts';
import { answerNow } from './router-driver.ts';
import { trouble, waitingAnswer, workingAnswer } from './status-answers.ts';

/** A call that comes while another one of the same host is at work waits so long for it. */
const BUSY_WAIT_MS = 20_000;
/** How soon a call notices that the client from whose shell it came is gone. */
const POLL_MS = 2_000;

/**
 * One call of a router's host: `told` is what it reports, null where it only asks what to do. Gives the answer, or null
 * where this process was told to go before there was one: the loop is left as it stands, for the next call.
 */
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
    if (error instanceof RalphError && error.code === 'state-fenced')
      return fenced(files, { ...options, signal: gone.signal });
    throw error;
  } finally {
    unwatch();
  }
}

async function call(files: LoopFiles, options: RouterOptions, told: Report | null): Promise<RouterAnswer> {
  const opened = openRouter(files, options);
  if ('action' in opened) return opened;
  const { state } = opened.turn.loaded;
  // A call that sits out a wait does so for long, and what it will say is known.
  const busyWait = waitsUntil(state, options.now()) === null ? BUSY_WAIT_MS : 0;
  const done = await takeBusyLock(
    files,
    state.epoch,
    Math.max(options.sitUntil, Date.now() + busyWait),
    options.signal,
  );
  if (done === null) return meanwhile(files, options);
  try {
    const contract = opened.turn.loaded.stored?.contract;
    if (contract !== undefined)
      applyFlagFiles(files, options.env, options.now(), contract, {
        isOurs: ({ loopId }) => loopId === contract.loopId,
      });
    // While another call was at work the loop went on.
    const router = openRouter(files, options);
    if ('action' in router) return router;
    router.notes.unshift(...opened.notes);
    return await (told === null ? answerNow(router) : report(router, told));
  } finally {
    done();
  }
}

/** What a call is told while another one of the same host is at work. */
function meanwhile(files: LoopFiles, options: RouterOptions): RouterAnswer {
  const router = openRouter(files, options);
  if ('action' in router) return router;
  const until = waitsUntil(router.turn.loaded.state, options.now());
  return until === null ? workingAnswer(router) : waitingAnswer(router, until);
}

/** Until when nothing is to be done but to wait; null where something is, or may be. */
function waitsUntil(state: LoopState, now: string): string | null {
  if (state.status !== 'waiting' || state.waiting.woken) return null;
  return isBefore(now, state.waiting.until) ? state.waiting.until : null;
}

/** Another session has taken the loop over while this call was at work. */
function fenced(files: LoopFiles, options: RouterOptions): RouterAnswer {
  const opened = openRouter(files, options);
  return 'action' in opened ? opened : trouble(files, ROUTER_TEXTS.fenced);
}

/** A shell that is ended, and a client that is gone, need no answer. */
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
