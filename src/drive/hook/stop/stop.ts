import type { EngineEvent } from '../../../engine/events.ts';
import { PAUSED_BY_PLANNING } from '../../../engine/messages.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import { completionText } from '../../../engine/signals/signals.ts';
import { interruptedAt, originOf, transcriptSize } from '../../../hosts/claude/transcript/transcript.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { readBackwards, STREAM_BYTES } from '../../../state/event-stream.ts';
import { findLiveContract, type LoopFiles, readState } from '../../../state/loop-files.ts';
import { isAlive } from '../../../state/process/identity.ts';
import { withPrefix } from '../../../state/process/program.ts';
import { applyFlagFiles } from '../../control/operate.ts';
import type { DriverContext } from '../../control/ownership.ts';
import { callingClient, clearCancellation, launchedHeadless, launcherGone } from '../../control/ownership.ts';
import { endTurn } from '../../effects/end-turn.ts';
import { runEffects } from '../../effects/run-effects.ts';
import { leaveOutSleep } from '../../turn/abort-if-superseded.ts';
import type { Dispatched, Loaded, Turn } from '../../turn/turn.ts';
import { CLIENT_GONE, dispatch, pauseForLoss, TURN_OVER } from '../../turn/turn.ts';
import { TOOL_TEXTS } from '../tool-answer.ts';
import { waitForBackground } from './await-background.ts';
import { hookDriver } from './hook-driver.ts';
import { loadLoop, type OpenedTurn, openTurn } from './open-turn.ts';

interface StopOptions {
  /** Timeout with which the hook is registered, in milliseconds; the hook cannot ask the client for it. */
  readonly timeoutMs: number;
  readonly signal: Turn['signal'];
}

/** Margin before the client's own timeout would kill the hook. */
const ANSWER_MARGIN_MS = 20_000;

/** Decides one Stop. Throws disk errors; the caller then allows the stop. */
export async function stop(context: DriverContext, { timeoutMs, signal }: StopOptions): Promise<HookAnswer | null> {
  const deadline = Date.now() + Math.max(1_000, timeoutMs - ANSWER_MARGIN_MS);
  let endWatch = (): void => undefined;
  const open = (): OpenedTurn => {
    const opened = openTurn(context, signal, deadline);
    endWatch();
    if ('turn' in opened) endWatch = leaveOutSleep(opened.turn);
    return opened;
  };
  try {
    const driver = hookDriver([]);
    let opened = open();
    const waited = 'turn' in opened ? await waitForBackground(opened.turn, context.input, driver) : 'none';
    if (waited === 'over') opened = open();
    if ('answer' in opened) return opened.answer;
    const isWaiting = typeof waited === 'object';
    if ('cancelled' in opened) return afterCancel(context, opened.cancelled.why);
    if (!isWaiting && endsByFlag(opened.turn, context)) return afterCancel(context);
    const { turn, effects } = isWaiting ? waited : await endOfTurn(opened.turn, context);
    const answer = await runEffects(turn, driver, effects);
    // A state that was lost during a wait or check is named now, since no further Stop may come.
    const isLost = answer === null && ['absent', 'corrupt'].includes(readState(context.files.state).kind);
    const now = isLost ? open() : null;
    return now !== null && 'answer' in now ? now.answer : answer;
  } finally {
    endWatch();
  }
}

/** Applies the flag files of a task folder. Returns whether they end this session's loop. */
function endsByFlag(turn: Turn, context: DriverContext): boolean {
  const { state, stored } = turn.loaded;
  const { files, env, now } = context;
  // Lost evidence does not keep the user from ending the loop.
  const found = stored ?? findLiveContract(files, state.loopId);
  if (found === null) return false;
  const isOurs = ({ loopId }: LoopState): boolean => loopId === state.loopId;
  // A session's Stops are sequential, so a missing record will never arrive.
  return applyFlagFiles(files, env, now(), found.contract, { isOurs, isBetweenTurns: true });
}

/** Keeps the marker while subagents continue in the background, so that their calls stay refused. */
function afterCancel({ files, input }: DriverContext, why: string = TOOL_TEXTS.cancelledStop): HookAnswer {
  if (!input.backgroundTasks.some(({ running, command }) => running && command === null)) clearCancellation(files);
  return { systemMessage: withPrefix(why) };
}

/** Ends the turn, unless something else has ended it or its loop cannot continue. */
async function endOfTurn(turn: Turn, context: DriverContext): Promise<Dispatched> {
  const { lastMessage, promptId, sessionId } = context.input;
  const { state, lost } = turn.loaded;
  const interruption = interruptionOf(turn.loaded, context);
  if (interruption !== null) return dispatch(turn, interruption);
  if (lost !== null) return pauseForLoss(turn, lost);
  return endTurn(turn, {
    load: (current) => {
      const loop = loadLoop(current, context);
      return loop.kind === 'loop' ? loop.loaded : null;
    },
    text: lastMessage ?? '',
    origin: await originOf(context.input, state.promptId, turn.signal),
    promptId,
    sessionId,
  });
}

/** Returns what ended the turn instead of the agent: a person who plans, or an exit of the launcher; null if neither did. */
function interruptionOf(loaded: Loaded, context: DriverContext): EngineEvent | null {
  const at = context.now();
  if (isPlanning(loaded, context)) return { type: 'suspended', at, reason: 'interrupted', message: PAUSED_BY_PLANNING };
  return launcherGone(context.env) ? { type: 'interrupted', at, by: 'client-exit' } : null;
}

/** Returns whether a person has put the session into plan mode. An agent does so without being asked, and continues. */
function isPlanning({ state, policy, stored, lost }: Loaded, { env, files, input }: DriverContext): boolean {
  if (input.raw['permission_mode'] !== 'plan' || stored?.contract.client?.permissionMode === 'plan') return false;
  const isAttended = env['CLAUDE_CODE_SESSION_ATTENDED'] !== '0' && !launchedHeadless(env);
  const claim = completionText(policy.completion);
  const claims = claim !== null && input.lastMessage?.includes(claim) === true;
  const mayPause = isAttended && !claims && lost === null && state.status === 'running' && !state.stopRequested;
  return mayPause && !plansByItself(files, state.loopId);
}

/** Returns whether the agent's last call about plan mode began it. The transcript may still lack that call (measured). */
function plansByItself(files: LoopFiles, loopId: string): boolean {
  const isCall = /^(?:Enter|Exit)PlanMode$/;
  const last = readBackwards(
    files,
    loopId,
    STREAM_BYTES,
    ['tool.done'],
    ({ tool }) => isCall.test(String(tool)) && tool,
  );
  return last === 'EnterPlanMode';
}

const CLIENT_POLL_MS = 2_000;

/** Aborts when the client exits or, after an Esc, forgets a hook: it does not notify its hooks. */
export function abortWhenClientGone(controller: AbortController, context: DriverContext, parent: number): void {
  const { clientPid: pid, clientStartedAt: startedAt } = callingClient(context);
  const client = pid === null ? null : { pid, startedAt };
  const known = client !== null && isAlive(client);
  const isOver = turnWatch(context);
  const timer = setInterval(() => {
    const isThere = (known ? isAlive(client) : process.ppid === parent) && !launcherGone(context.env);
    if (isThere && !isOver()) return;
    clearInterval(timer);
    controller.abort(isThere ? TURN_OVER : CLIENT_GONE);
  }, CLIENT_POLL_MS);
  timer.unref();
}

/** Returns a test for the end of this turn, for a client that shows it only in its transcript. */
function turnWatch({ host, input: { transcriptPath }, now }: DriverContext): () => boolean {
  const since = now();
  let size: number | null = null;
  return () => {
    const found = host?.settings === undefined ? null : transcriptSize(transcriptPath);
    if (transcriptPath === null || found === size) return false;
    size = found;
    return interruptedAt(transcriptPath, since) !== null;
  };
}
