import { setTimeout } from 'node:timers/promises';
import type { EngineEvent } from '../../../engine/events.ts';
import { isWaited, untilTimeUp } from '../../../engine/policy/loop-time.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { Host } from '../../../hosts/host.ts';
import { hostOf } from '../../../hosts/hosts.ts';
import { readLines } from '../../../state/files/journal-lines.ts';
import { REPEATED, readLoop } from '../../../state/loop-files.ts';
import { onSignals } from '../../../state/process/signals.ts';
import { instantOf, isBefore } from '../../../text/time.ts';
import { applyEffects } from '../../records/apply-effects.ts';
import { exportMeanwhile, traceEnvironment } from '../../records/export-telemetry.ts';
import { LAUNCH_TEXTS } from '../../turn/messages.ts';
import { dispatch, loadedUnder, newTurn, type Turn } from '../../turn/turn.ts';
import { doubled, rateLimitWait, remainingMs } from '../../turn/wait.ts';
import type { StartedLoop } from '../stages.ts';
import { endLaunch } from './end-launch.ts';
import { type ClientRun, runClient } from './run-client.ts';

interface LaunchOptions extends ClientRun {
  /** Prints a hook's message, which has its prefix. */
  readonly repeat: (text: string) => void;
  /** True if the run exits with 3 when the loop completes unverified. */
  readonly requiresProof: boolean;
}

const POLL_MS = 500;

/** Consecutive server errors without an iteration after which the loop stays paused. */
const MOST_RETRIES = 5;

/** Runs the client until the loop is over or the client exits. Headless, continues after rate limits and server errors. */
export async function launch(
  { files, loopId, state: begun, stored }: StartedLoop,
  options: LaunchOptions,
): Promise<{ readonly code: number; readonly message: string }> {
  const context = { files, env: options.env, now: () => new Date().toISOString() };
  const turn = newTurn(context, loadedUnder(stored, begun), { keepsLoopOnAbort: true });
  const { clientVersion, host } = stored.contract;
  const isMute = options.headless && !hostOf(host).printsMessages(clientVersion);
  const repeat = isMute ? repeater(turn, options) : () => undefined;
  let session: string | null = null;
  let done = begun.iteration;
  for (let retries = 0; ; retries++) {
    const began = context.now();
    const env = isMute ? { ...options.env, RALPH_REPEAT: '1' } : options.env;
    const stopExport = exportMeanwhile(files, loopId, options.env);
    const trace = await traceEnvironment(loopId, null, options.env);
    await runClient(turn, { ...options, env: { ...env, ...trace } }, session, repeat).finally(stopExport);
    repeat();
    if (options.headless) noteApiError(turn, began);
    const state = readLoop(files, loopId);
    if (state !== null && state.iteration > done) retries = 0;
    done = state?.iteration ?? done;
    const wanted = options.headless && state !== null ? retryPause(state, hostOf(host), options.env, retries) : null;
    if (wanted === null || state === null) return endLaunch(turn, options);
    const limit = untilTimeUp(state, turn.loaded.policy.budget, context.now(), instantOf(Date.now() + wanted));
    const pause = Math.max(0, Date.parse(limit) - Date.now());
    const text = state.status === 'paused' && state.paused.reason === 'api-error' ? 'retrying' : 'waitingForLimit';
    options.say(LAUNCH_TEXTS[text](limit, state.status === 'paused' && state.paused.resumesAt !== null));
    if (!(await staysWaiting(pause, turn))) return endLaunch(turn, options);
    change(turn, { type: 'operator', at: context.now(), command: { kind: 'resume', by: 'launcher' } });
    session = state.sessionId;
  }
}

/** Returns the milliseconds until a paused loop is retried; null if the user has to decide. */
function retryPause(state: LoopState, host: Host, env: NodeJS.ProcessEnv, retries: number): number | null {
  if (state.status !== 'paused') return null;
  const { reason, resumesAt } = state.paused;
  if (reason === 'rate-limited') {
    return resumesAt === null
      ? rateLimitWait(env, retries)
      : Math.max(1_000, Date.parse(resumesAt) - Date.now() + 1_000);
  }
  const isServers = reason === 'api-error' && host.sessionError(state.marks.transcriptPath)?.kind === 'overloaded';
  return isServers && retries < MOST_RETRIES ? doubled(env, 'RALPH_RETRY_WAIT', retries, 5_000, 120_000) : null;
}

/** Returns a function that prints the messages that this loop's hooks have logged since the last call. */
function repeater({ context: { files }, loaded }: Turn, options: LaunchOptions): () => void {
  let { next } = readLines(files.log);
  return () => {
    const lines = readLines(files.log, next);
    next = lines.next;
    for (const { where, message } of lines.entries)
      if (where === `${REPEATED} ${loaded.state.loopId}`) options.repeat(String(message));
  };
}

/** Returns whether the loop still waits after this time. Ctrl+C ends it as stopped; SIGTERM leaves it paused. */
async function staysWaiting(milliseconds: number, turn: Turn): Promise<boolean> {
  const { context, loaded } = turn;
  const left = remainingMs(Date.now() + milliseconds);
  const gone = new AbortController();
  const press = (): void => {
    change(turn, { type: 'operator', at: context.now(), command: { kind: 'stop', clientAlive: false } });
    gone.abort();
  };
  const quiet = onSignals({ press, leave: () => gone.abort() });
  try {
    while (left() > 0) {
      await setTimeout(Math.min(POLL_MS, left()), undefined, { signal: gone.signal }).catch(() => undefined);
      const state = readLoop(context.files, loaded.state.loopId);
      if (gone.signal.aborted || state === null || !isWaited(state)) return false;
    }
    return true;
  } finally {
    quiet();
  }
}

/** Records an API error at the transcript's end: under `-p` the client kills its StopFailure hook (measured). */
function noteApiError(turn: Turn, since: string): void {
  const state = readLoop(turn.context.files, turn.loaded.state.loopId);
  if (state === null || state.status === 'paused') return;
  const at = turn.context.now();
  const noted = hostOf(turn.loaded.stored?.contract.host).sessionError(state.marks.transcriptPath);
  if (noted === null || isBefore(noted.at ?? at, since)) return;
  const { at: _, ...error } = noted;
  change(turn, { type: 'api-error', at, error });
}

function change(turn: Turn, event: EngineEvent): void {
  applyEffects(turn.context.files, event.at, dispatch(turn, event).effects);
}
