import { basename } from 'node:path';
import type { UsageDelta } from '../../engine/events.ts';
import type { SpawnRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { hostSession } from '../../hosts/claude/host-session.ts';
import { type LoopFiles, loopFiles, readLoop } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { onSignals } from '../../state/process/signals.ts';
import { endedState } from '../../state/with-state.ts';
import { digest } from '../../text/digest.ts';
import { RalphError } from '../../text/message.ts';
import { after, isBefore } from '../../text/time.ts';
import { applyFlagFiles } from '../control/operate.ts';
import { endTurn } from '../effects/end-turn.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { standing } from '../status/ended-loop.ts';
import { loopNames } from '../status/loop-report.ts';
import { type Dispatched, dispatch } from '../turn/turn.ts';
import { rateLimitWait, waitUntil } from '../turn/wait.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { openRouter } from './open-router.ts';
import type { Router, RouterAnswer, RouterOptions, StopAnswer, WaitAnswer } from './router.ts';
import {
  assignedSpawn,
  countedSpawn,
  isReported,
  lastSpawn,
  promptPath,
  RouterLeft,
  readSpawn,
  spawnMark,
  takeBusyLock,
  updateSpawn,
} from './router.ts';
import { answerAfter, answerNow, trouble, waitingAnswer, workingAnswer } from './router-driver.ts';

const BUSY_WAIT_MS = 20_000;
/** Poll interval for the exit of the client whose shell made the call. */
const POLL_MS = 2_000;

/** Answers a call of the host; `told` is its report. null, with the loop unchanged, if this process has to exit. */
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

/** Names a report to a loop that has ended or that this host does not hold, unless it only repeats the last report. */
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

export interface Report {
  /** Number of the spawn; null if the host omits it and means the assigned one. */
  readonly spawn: number | null;
  /** Client's id of the agent; null if the host passes only its text. */
  readonly agent: string | null;
  /** Prompt with which the agent began, from the client's record; empty without one. */
  readonly prompt: string;
  readonly text: string;
  /** Reason why the agent could not work; null if it did. */
  readonly error: string | null;
  readonly usage: UsageDelta | null;
}

/** Maximum number of consecutive texts treated as a repeated report. */
const MOST_DOUBTS = 3;

/** Counts a subagent's iteration once and answers with the next step. Throws RalphError `usage` for a wrong spawn. */
export async function report(router: Router, told: Report): Promise<RouterAnswer> {
  const { files, turn } = router;
  const { state } = turn.loaded;
  const assigned = assignedSpawn(files, state);
  const last = lastSpawn(files, state);
  if (told.spawn !== null && told.spawn > last) throw new RalphError('usage', ROUTER_TEXTS.promised(told.spawn, last));
  if (assigned === null || (told.spawn !== null && told.spawn !== assigned.answer.spawn)) {
    router.notes.push(...uncounted(state, told));
    return answerNow(router);
  }
  refuseOthers(router, assigned, told);
  if (told.error !== null) return answerAfter(router, await retryLater(router, assigned, told.error));
  if (told.agent !== null && told.agent === assigned.heardOf) {
    if (told.spawn !== null)
      throw new RalphError('usage', ROUTER_TEXTS.heardOfAgent(told.agent, assigned.answer.spawn));
    router.notes.push(...uncounted(state, told));
    return answerNow(router);
  }
  if (told.spawn === null && isDoubtful(router, assigned, state, told.text)) return answerNow(router);
  return answerAfter(router, await endSpawn(router, assigned, told));
}

/** Throws `usage` if the agent works or has worked for another loop: a session can host several. */
function refuseOthers({ files, options }: Router, assigned: SpawnRecord, { agent, prompt }: Report): void {
  if (agent === null || isPromptOf(files, assigned, prompt)) return;
  for (const name of loopNames(files.projectDir, options.env)) {
    const other = loopFiles(files.projectDir, name, options.env);
    const record = name === files.name ? null : readSpawn(other);
    if (record === null || (record.heardOf !== agent && !isPromptOf(other, record, prompt))) continue;
    throw new RalphError('usage', ROUTER_TEXTS.ofAnotherLoop(agent, name, readLoop(other, record.loopId) !== null));
  }
}

/** Returns whether a subagent began with the prompt of this spawn, or with the file that holds it. */
function isPromptOf(files: LoopFiles, { answer }: SpawnRecord, prompt: string): boolean {
  return prompt.includes(answer.prompt.trim()) || prompt.includes(basename(promptPath(files)));
}

/** Returns whether a report without a number may repeat the previous one; only the text distinguishes them. */
function isDoubtful({ files, notes }: Router, assigned: SpawnRecord, { lastTurn }: LoopState, text: string): boolean {
  if (lastTurn === null || lastTurn.text !== digest(text)) return false;
  const { spawn } = assigned.answer;
  if (assigned.doubts >= MOST_DOUBTS) throw new RalphError('usage', ROUTER_TEXTS.doubtAgain(spawn));
  updateSpawn(files, assigned, { doubts: assigned.doubts + 1 });
  notes.push(ROUTER_TEXTS.doubt(spawn));
  return true;
}

/** Returns the note about a report that is not counted; none for the last counted report, repeated by the host. */
function uncounted(state: LoopState | null, { spawn, text, error }: Report): string[] {
  const last = error === null ? (state?.lastTurn ?? null) : null;
  const isSameSpawn = spawn === null || last?.transcriptMark === spawnMark(spawn);
  if (last !== null && isSameSpawn && last.text === digest(text)) return [];
  if (spawn === null || state === null) return [ROUTER_TEXTS.uncounted];
  const isTooLate = state.status === 'ended' && spawn > countedSpawn(state);
  return [isTooLate ? ROUTER_TEXTS.endedBefore(spawn) : ROUTER_TEXTS.notInProgress(spawn)];
}

/** Number of subagents that may fail on one spawn before the loop ends. */
const MOST_FAILURES = 5;

/** Keeps the spawn for another subagent after a wait, so that an outage costs no iteration. */
async function retryLater({ files, turn, notes }: Router, assigned: SpawnRecord, error: string): Promise<Dispatched> {
  const at = turn.context.now();
  const { failures = 0, retryAt = at } = assigned;
  if (isBefore(at, retryAt)) return { turn, effects: [] };
  if (failures >= MOST_FAILURES)
    return dispatch(turn, { type: 'agent-failed', at, message: ROUTER_TEXTS.gaveUp(failures + 1, error) });
  const delay = rateLimitWait(turn.context.env, failures);
  updateSpawn(files, assigned, { failures: failures + 1, retryAt: after(at, delay) });
  notes.push(ROUTER_TEXTS.notCounted(assigned.answer.spawn, error));
  return { turn, effects: [] };
}

async function endSpawn({ files, turn }: Router, assigned: SpawnRecord, told: Report): Promise<Dispatched> {
  const { policy, state } = turn.loaded;
  if (told.usage === null && policy.budget.maxTokens !== null) throw new RalphError('usage', ROUTER_TEXTS.needsAgent);
  const { text, usage } = told;
  const ended = await endTurn(turn, {
    text,
    origin: 'loop',
    promptId: null,
    sessionId: state.sessionId ?? '',
    run: { error: null, usage, costUsd: null, transcriptMark: spawnMark(assigned.answer.spawn) },
    isCounted: (current) => isReported(assigned, current),
  });
  // Written after the state, which has the same information: a crash in between loses nothing.
  updateSpawn(files, assigned, { heard: true, heardOf: told.agent ?? assigned.heardOf });
  return ended;
}

/** Maximum size of a report. Signals are at the end of a message, so its beginning can be dropped. */
export const REPORT_LIMIT = 1024 * 1024;

/** Indentation that the client adds to each line of a subagent's text (measured). */
const HANDED_ON = '  ';
const CODE = '    ';

const NOTIFICATION = '<task-notification>';
const NOTIFICATION_END = '</task-notification>';

/** Returns a subagent's final message, extracted from the client's notification. Throws `usage` for several. */
export function plainReport(bytes: Uint8Array): string {
  const kept = bytes.subarray(Math.max(0, bytes.length - REPORT_LIMIT));
  const text = new TextDecoder().decode(kept);
  return withoutIndent(resultIn(text.trim()) ?? text);
}

/** Returns the result in a text that is a single notification, else null. A quoted one is the agent's own text. */
function resultIn(text: string): string | null {
  if (!text.startsWith(NOTIFICATION) || !text.endsWith(NOTIFICATION_END)) return null;
  const start = text.indexOf('<result>');
  const end = text.lastIndexOf('</result>');
  if (start === -1 || end < start) return null;
  if (/<\/task-notification>\s*<task-notification>/.test(text))
    throw new RalphError('usage', ROUTER_TEXTS.severalReports);
  return text.slice(start + '<result>'.length, end);
}

function withoutIndent(text: string): string {
  const lines = text.split('\n');
  const said = lines.filter((line) => line.trim() !== '');
  const handedOn = said.every((line) => line.startsWith(HANDED_ON)) && said.some((line) => !line.startsWith(CODE));
  return handedOn
    ? lines.map((line) => line.slice(line.startsWith(HANDED_ON) ? HANDED_ON.length : 0)).join('\n')
    : text;
}
