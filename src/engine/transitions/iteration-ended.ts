import { digest } from '../../text/digest.ts';
import { render } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { after } from '../../text/time.ts';
import type { Effect, EventOf } from '../events.ts';
import {
  AWAITING_CONSENT,
  failedText,
  idleLimitText,
  misplacedText,
  nearMissText,
  struggleText,
  timedOutText,
  timeIsUpText,
} from '../messages.ts';
import { repeatsOf, sampleBreaker } from '../policy/breaker.ts';
import { addUsage } from '../policy/budget.ts';
import { timeSinceDecision } from '../policy/iteration-time.ts';
import { anotherIdle, idleElapsed, idleWait, NOT_IDLE, stoppedFor, timeReading } from '../policy/loop-time.ts';
import type { IdlePolicy, Policy } from '../schema/contract.ts';
import type { IterationRecord } from '../schema/records.ts';
import type { CommonState, Failure, LiveState, LoopState, StateOf } from '../schema/state.ts';
import { completionText, readSignals, type Signals, STATE_MARKER } from '../signals/signals.ts';
import { common, end, event, prompt, release, releasePaused, running, type Transition } from './build.ts';
import { decide, endBy, limitReached, withinLimits } from './check-limits.ts';
import { interruptedByUser } from './user-turn.ts';

/** Handles the end of the agent's turn: decides whether it is an iteration, and what follows. */
export function iterationEnded(state: LiveState, ended: Ended, policy: Policy): Transition {
  if (state.status === 'awaiting-consent') return release(state, render(AWAITING_CONSENT, state));
  const delivery = { promptId: ended.promptId, text: digest(ended.text), transcriptMark: ended.transcriptMark };
  if (sameDelivery(state.lastTurn, delivery)) return { state, effects: [{ type: 'ignore' }] };
  const heard: LiveState = {
    ...state,
    lastTurn: delivery,
    promptId: ended.promptId,
    inFlight: null,
    usage: addUsage(state.usage, ended.usage, ended.costUsd),
  };
  const users = state.turn === 'user' || ended.origin === 'user';
  if (heard.status === 'paused') {
    if (heard.paused.reason !== 'operator' || users || state.turn === 'rest') return releasePaused(heard);
    // The user paused while the agent worked: its finished work still counts, the time of the pause does not.
    const worked = stoppedFor(running(heard), heard.paused.since, ended.at);
    return count({ ...worked, pauseRequested: true }, ended, policy);
  }
  if (state.stopRequested && users) return endBy(heard, ended.at, policy, { by: 'user' });
  if (ended.origin === 'user' && state.turn === 'agent') return interruptedByUser(heard, ended.at, 'allow');
  return users ? afterUserTurn(heard, ended.at, policy) : count(heard, ended, policy);
}

/** Continues after an answer to the user, which is neither counted nor read for signals. */
function afterUserTurn(state: LiveState, at: string, policy: Policy): Transition {
  const answered = event(state, at, 'user.answered');
  if (state.status === 'waiting') {
    return {
      state: { ...state, turn: 'rest', lastDecision: { at, kind: 'wait', detail: 'after the user' } },
      effects: [answered, { type: 'wait', until: state.waiting.until }],
    };
  }
  const next = withinLimits(running(state), at, policy, (warned) => prompt(warned, at, 'after the user'));
  return { state: next.state, effects: [answered, ...next.effects] };
}

function count(state: LiveState, ended: Ended, policy: Policy): Transition {
  const heard = readSignals(ended.text, policy);
  const signals: Signals = ended.taskDone ? { ...heard, completion: 'claimed' } : heard;
  const failed = hasFailed(ended);
  // Other signals take precedence over idle; a failed turn is never idle.
  const isQuiet = signals.completion !== 'claimed' && signals.findings === null && !failed;
  if (policy.idle && signals.states.includes('idle') && isQuiet)
    return idleIteration(state, ended, policy, policy.idle, signals);
  const counted = countWorking(state, ended, signals, policy);
  const outcome = account(counted, ended, policy);
  const next = noted(counted, ended, policy, signals, outcome);
  const said = { findings: signals.findings, ...statesOf(signals) };
  const named = failed
    ? event(next, ended.at, 'iteration.failed', { ...said, error: ended.error ?? 'timed out' })
    : event(next, ended.at, 'iteration.completed', said);
  const verdict =
    signals.completion === 'claimed'
      ? verify(next, ended.at, outcome.failure)
      : endsUnchecked(next, ended, policy, outcome.failure)
        ? checkUnclaimed(next, ended.at)
        : decideNext(next, ended.at, policy, outcome.failure);
  return conclude(state, next, ended, signals, 'working', named, verdict);
}

function countWorking(state: LiveState, ended: Ended, signals: Signals, policy: Policy): Running {
  const normalised = normalisedReply(ended.text, policy);
  // An empty reply does not count if the agent called tools or its run failed.
  const isSilent = normalised === '' && (ended.toolCalls > 0 || ended.callsUnknown || hasFailed(ended));
  return {
    ...running(state),
    iteration: state.iteration + 1,
    idle: NOT_IDLE,
    lastFindingsCount: signals.findings ?? state.lastFindingsCount,
    breaker: sampleBreaker(state.breaker, {
      findings: signals.findings,
      reply: isSilent ? null : digest(normalised),
      error: ended.error && normalisedError(ended.error),
      progress: ended.progress,
      toolCalls: ended.toolCalls,
      deniedCalls: ended.deniedCalls,
      scenario: ended.scenario,
    }),
  };
}

function hasFailed({ error, timedOut }: Ended): boolean {
  return error !== null || timedOut;
}

function sameDelivery(before: LoopState['lastTurn'], now: NonNullable<LoopState['lastTurn']>): boolean {
  return (
    before !== null &&
    before.promptId === now.promptId &&
    before.text === now.text &&
    before.transcriptMark === now.transcriptMark
  );
}

/** Number of failed commands in one iteration that suggests a wrong approach, not a typing error. */
const STRUGGLE = 3;

/** Continues with the next iteration, after the task's delay, unless the loop ends or pauses here. */
export function decideNext(state: Running, at: string, policy: Policy, failure: Failure | null): Transition {
  const { delayMs } = policy.pace;
  return decide(state, at, policy, failure, (warned) =>
    delayMs === 0
      ? prompt(warned, at, 'next iteration')
      : waitUntil(warned, at, { delayMs, last: false, seen: null, why: 'pace' }),
  );
}

function idleIteration(state: LiveState, ended: Ended, policy: Policy, idle: IdlePolicy, signals: Signals): Transition {
  const { at } = ended;
  const counted: Running = {
    ...running(state),
    idleIterations: state.idleIterations + 1,
    idle: anotherIdle(state.idle, at),
  };
  const next = noted(counted, ended, policy, signals, account(counted, ended, policy));
  const verdict = decide(next, at, policy, null, (warned) => waitIdle(warned, at, idle, ended.seen));
  const named = event(next, at, 'iteration.idle', {
    consecutiveIdle: next.idle.consecutive,
    delayMs: verdict.state.status === 'waiting' ? verdict.state.waiting.delayMs : 0,
    idleElapsedMs: idleElapsed(next.idle, at),
    ...statesOf(signals),
  });
  return conclude(state, next, ended, signals, 'idle', named, verdict);
}

function waitIdle(state: Running, at: string, idle: IdlePolicy, seen: string | null): Transition {
  const wait = idleWait(state.idle, idle, at);
  if (wait === null) return end(state, at, 'idle-limit', idleLimitText(idleElapsed(state.idle, at), idle.maxMs));
  return waitUntil(state, at, { ...wait, seen });
}

function waitUntil(
  state: Running,
  at: string,
  wait: Omit<StateOf<'waiting'>['waiting'], 'since' | 'until' | 'woken'>,
): Transition {
  const until = after(at, wait.delayMs);
  return {
    state: {
      ...common(state),
      status: 'waiting',
      waiting: { since: at, until, woken: false, ...wait },
      lastDecision: { at, kind: 'wait', detail: wait.why ?? 'idle' },
    },
    effects: [{ type: 'wait', until }],
  };
}

function verify(state: Running, at: string, failure: Failure | null): Transition {
  const next = verifying(state, at, failure === null ? {} : { failure }, 'completion claimed');
  return { state: next, effects: [event(state, at, 'completion.claimed'), { type: 'verify' }] };
}

function verifying(
  state: Running,
  at: string,
  of: Omit<StateOf<'verifying'>['verifying'], 'since'>,
  detail: string,
): StateOf<'verifying'> {
  const lastDecision = { at, kind: 'verify', detail } as const;
  return { ...common(state), status: 'verifying', verifying: { since: at, ...of }, lastDecision };
}

/** Returns whether the loop ends here without a claim and has time for checks, which alone show how far the agent came. */
function endsUnchecked(state: Running, { at, hasChecks }: Ended, policy: Policy, failure: Failure | null): boolean {
  if (failure !== null || !hasChecks || state.pauseRequested || timeReading(state, policy.budget, at)) return false;
  const reached = limitReached(state, at, policy);
  return reached?.by === 'iterations' || reached?.by === 'breaker';
}

function checkUnclaimed(state: Running, at: string): Transition {
  return { state: verifying(state, at, { unclaimed: true }, 'limit reached'), effects: [{ type: 'verify' }] };
}

function account(state: Running, ended: Ended, policy: Policy): Account {
  return {
    warnings: warnings(ended, policy),
    failure: failure(ended, policy, state),
    progress: policy.pace.tracksProgress ? progress(state, ended) : {},
  };
}

function warnings(ended: Ended, { pace }: Policy): string[] {
  const struggled = ended.failedShellCalls >= STRUGGLE ? [struggleText(ended.failedShellCalls)] : [];
  return ended.timedOut ? [timeIsUpText(pace.iterationTimeoutMs), ...struggled] : struggled;
}

function failure(ended: Ended, { pace }: Policy, state: Running): Failure | null {
  const { iteration } = state;
  if (!pace.stopOnError) return null;
  if (!hasFailed(ended)) return null;
  const why = ended.timedOut
    ? timedOutText(iteration, pace.iterationTimeoutMs)
    : failedText(iteration, ended.error ?? '');
  return { as: ended.timedOut ? 'timeout' : 'error', message: render(why, state), text: why.text };
}

function progress(state: Running, ended: Ended): Account['progress'] {
  const { progressed, unknownProgress, idle, iteration } = state;
  const unknown = ended.progress === 'unknown' && idle.since === null;
  return {
    progressed: progressed || ended.progress === 'yes',
    unknownProgress: (unknownProgress ?? 0) + (unknown ? 1 : 0),
    ...(ended.checklist && { checklist: { done: ended.checklist.done, total: ended.checklist.total } }),
    ...(ended.reflected && { lastReflection: iteration }),
  };
}

/** Returns a reply for comparison, without signals and final punctuation. Digits stay: a falling count is progress. */
export function normalisedReply(text: string, policy: Pick<Policy, 'completion'>): string {
  const wanted = completionText(policy.completion);
  const plain = wanted === null ? text : text.split(wanted).join(' ');
  return withoutTrailingPunctuation(
    plain
      .replace(STATE_MARKER, ' ')
      .replace(/RALPH_ITERATION_COMPLETE:/g, ' ')
      .replace(/\s{2,}|[^\S ]/g, ' ')
      .trim()
      .toLowerCase(),
  );
}

/** Removes trailing punctuation character by character: a pattern that ends in `$` can take quadratic time. */
function withoutTrailingPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && isPunctuation(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Returns whether a character is punctuation or white space. Tries ASCII first: the Unicode class takes 0.15 ms to compile. */
function isPunctuation(character: string): boolean {
  return character < '\x80' ? /[!-#%-*,-/:;?@[-\]_{}\s]/.test(character) : /[\p{P}\s]/u.test(character);
}

/** Returns the constant part of an error: without ids, instants and addresses, white space collapsed. */
export function normalisedError(message: string): string {
  return message
    .replace(/\b(?:req|msg|toolu)_\w+|\b[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z?|0x[\da-f]+|\d{5,}/gi, '…')
    .replace(/\s+/g, ' ')
    .trim();
}

export type Ended = EventOf<'iteration-ended'>;
type Running = StateOf<'running'>;

/** Facts about a turn besides its count. */
interface Account {
  readonly warnings: readonly string[];
  /** Failure that ends the loop; null if the loop continues. */
  readonly failure: Failure | null;
  readonly progress: Pick<CommonState, 'progressed' | 'unknownProgress' | 'checklist' | 'lastReflection'>;
}

/** Returns a counted iteration with its results for the next one: notices, progress and marks. */
function noted(
  counted: Running,
  ended: Ended,
  policy: Policy,
  { completion, nearMiss }: Signals,
  { warnings, progress }: Account,
): Running {
  const wanted = completionText(policy.completion);
  return {
    ...counted,
    ...progress,
    lastRunAt: ended.at,
    lastWords: lastWords(ended.text, wanted),
    projectMark: ended.projectMark ?? counted.projectMark,
    notices: {
      ...counted.notices,
      misplacedSignal: wanted === null ? null : noticeOf(wanted, completion, nearMiss),
      warnings: [...counted.notices.warnings, ...warnings],
    },
  };
}

function noticeOf(wanted: string, completion: Signals['completion'], nearMiss: string | undefined): string | null {
  if (completion === 'misplaced') return misplacedText(wanted);
  return nearMiss === undefined ? null : nearMissText(nearMiss, wanted);
}

const MESSAGE_TAIL = 10_000;
const MOST_LINES = 5;
const LINE_LIMIT = 300;

/** Returns the last lines of a message, without secrets and the agent's signals. */
function lastWords(text: string, signal: string | null): string[] {
  const lines = text
    .slice(-MESSAGE_TAIL)
    .replace(STATE_MARKER, '')
    .split('\n')
    .map((line) => line.trimEnd());
  const said = lines.filter((line) => line.trim() !== '' && line.trim() !== signal).slice(-MOST_LINES);
  return said.map((line) => redact(line).slice(0, LINE_LIMIT));
}

/** Returns the verdict on an iteration, preceded by its record and its event. */
function conclude(
  before: LoopState,
  state: Running,
  ended: Ended,
  signals: Signals,
  kind: IterationRecord['kind'],
  named: Effect,
  verdict: Transition,
): Transition {
  const startedAt = before.lastDecision?.at ?? before.startedAt;
  const decided = verdict.state;
  const record: IterationRecord = {
    loopId: state.loopId,
    iteration: state.iteration,
    idleIterations: state.idleIterations,
    kind,
    startedAt,
    endedAt: ended.at,
    durationMs: timeSinceDecision(before, ended.at),
    findings: signals.findings,
    states: [...signals.states],
    claimed: signals.completion === 'claimed',
    toolCalls: ended.toolCalls,
    deniedCalls: ended.deniedCalls,
    outputTokens: ended.usage?.outputTokens ?? null,
    decision: decisionOf(decided),
    breaker: repeatsOf(state.breaker),
  };
  return { state: decided, effects: [{ type: 'record-iteration', record }, named, ...verdict.effects] };
}

/** Returns the states that an agent named, for the event; an empty object if there are none. */
function statesOf({ states }: Signals): { readonly states?: readonly string[] } {
  return states.length > 0 ? { states } : {};
}

/** Returns the recorded decision. A claim is recorded before its checks run; the events journal has their verdict. */
function decisionOf(decided: LoopState): string {
  if (decided.status === 'verifying') return decided.verifying.unclaimed ? 'checked' : 'claimed';
  return decided.status === 'ended' ? decided.ended.as : decided.status;
}
