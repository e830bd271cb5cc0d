import { sampleBreaker } from '../breaker/breaker.ts';
import { elapsed } from '../clock.ts';
import { digest } from '../digest.ts';
import type { Effect } from '../effects.ts';
import type { EngineEvent } from '../events.ts';
import { anotherIdle, clockSetBack, idleElapsed, NOT_IDLE } from '../idle.ts';
import { normalisedReply } from '../normalised-reply.ts';
import type { Policy } from '../schema/policy.ts';
import type { IterationRecord } from '../schema/records.ts';
import type { LoopState, StateOf } from '../schema/state.ts';
import { completionText, readSignals, type Signals } from '../signals.ts';
import { misplacedText, stoppedText } from '../texts.ts';
import { addUsage } from '../usage.ts';
import { end, event, prompt, release, releasePaused, running, type Transition } from './common.ts';
import { decide, withinLimits } from './decide.ts';
import { type Seldom, STRUGGLE, UNEVENTFUL } from './seldom.ts';

type Ended = Extract<EngineEvent, { type: 'iteration-ended' }>;
type Live = Exclude<LoopState, { status: 'ended' }>;

/** The agent's turn is over: is it an iteration, and what follows from it? */
export function iterationEnded(state: Live, ended: Ended, policy: Policy, seldom: Seldom): Transition {
  if (state.status === 'awaiting-consent') {
    return release(state, 'this loop awaits your consent: main.cjs start --consent.');
  }
  const delivery = { promptId: ended.promptId, text: digest(ended.text), transcriptMark: ended.transcriptMark };
  if (sameDelivery(state.lastTurn, delivery)) return { state, effects: [{ type: 'ignore' }] };
  const noted: Live = {
    ...state,
    lastTurn: delivery,
    promptId: ended.promptId,
    handedOver: null,
    usage: addUsage(state.usage, ended.usage, ended.costUsd),
  };
  if (noted.status === 'paused') return releasePaused(noted);
  const users = state.turn === 'user' || ended.origin === 'user';
  if (state.stopRequested && users) return end(noted, ended.at, 'stopped', stoppedText(state.iteration));
  if (ended.origin === 'user' && state.turn === 'agent') return seldom.interrupted(noted, ended.at);
  return users ? afterUserTurn(noted, ended.at, policy) : count(noted, ended, policy, seldom);
}

/** The answer to the user is neither counted nor read for signals; the loop goes on where it was. */
function afterUserTurn(state: Live, at: string, policy: Policy): Transition {
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

function count(state: Live, ended: Ended, policy: Policy, seldom: Seldom): Transition {
  const signals = readSignals(ended.text, policy);
  const claimed = signals.completion === 'claimed';
  const wanted = completionText(policy.completion);
  const idle = isIdle(signals, ended) ? policy.idle : null;
  const counted = idle === null ? countWorking(state, ended, signals, policy) : countIdle(state, ended.at);
  const eventful = failed(ended) || ended.failedShellCalls >= STRUGGLE || policy.pace.tracksProgress;
  const { warnings, failure, progress } = eventful ? seldom.account(counted, ended, policy) : UNEVENTFUL;
  const told: StateOf<'running'> = {
    ...counted,
    ...progress,
    lastRunAt: ended.at,
    projectMark: ended.projectMark ?? counted.projectMark,
    notices: {
      ...counted.notices,
      misplacedSignal: wanted !== null && signals.completion === 'misplaced' ? misplacedText(wanted) : null,
      warnings: [...counted.notices.warnings, ...warnings],
    },
  };
  const verdict = claimed
    ? seldom.verify(told, ended.at, failure)
    : decide(told, ended.at, policy, failure, (warned) =>
        idle === null && policy.pace.delayMs === 0
          ? prompt(warned, ended.at, 'next iteration')
          : seldom.wait(warned, ended.at, policy, idle, ended.seen),
      );
  return {
    state: verdict.state,
    effects: [
      { type: 'record-iteration', record: record(state, told, ended, signals, idle !== null, verdict.state) },
      named(told, ended, signals, verdict.state, idle !== null),
      ...verdict.effects,
    ],
  };
}

/** Idle gives way to the other signals. A failed turn is not idle. */
function isIdle({ completion, findings, states }: Signals, ended: Ended): boolean {
  return states.includes('idle') && completion !== 'claimed' && findings === null && !failed(ended);
}

function failed({ error, timedOut }: Ended): boolean {
  return error !== null || timedOut;
}

function countIdle(state: Live, at: string): StateOf<'running'> {
  return {
    ...running(state),
    idleIterations: state.idleIterations + 1,
    idle: anotherIdle(clockSetBack(state.idle, state.lastDecision?.at ?? state.lastRunAt, at), at),
  };
}

function countWorking(state: Live, ended: Ended, signals: Signals, policy: Policy): StateOf<'running'> {
  const normalised = normalisedReply(ended.text, policy);
  return {
    ...running(state),
    iteration: state.iteration + 1,
    idle: NOT_IDLE,
    lastFindingsCount: signals.findings ?? state.lastFindingsCount,
    breaker: sampleBreaker(state.breaker, {
      findings: signals.findings,
      reply: normalised === '' && ended.toolCalls > 0 ? null : digest(normalised),
      error: ended.error,
      progress: ended.progress,
      toolCalls: ended.toolCalls,
      deniedCalls: ended.deniedCalls,
      scenario: ended.scenario,
    }),
  };
}

/** What the iteration was, as an event: idle, failed or completed. */
function named(state: LoopState, ended: Ended, signals: Signals, decided: LoopState, idle: boolean): Effect {
  const states = signals.states.length > 0 ? { states: signals.states } : {};
  if (idle) {
    return event(state, ended.at, 'iteration.idle', {
      consecutiveIdle: state.idle.consecutive,
      delayMs: decided.status === 'waiting' ? decided.waiting.delayMs : 0,
      idleElapsedMs: idleElapsed(state.idle, ended.at),
      ...states,
    });
  }
  const { findings } = signals;
  if (!failed(ended)) return event(state, ended.at, 'iteration.completed', { findings, ...states });
  return event(state, ended.at, 'iteration.failed', { findings, error: ended.error ?? 'timed out', ...states });
}

function record(
  before: LoopState,
  after: LoopState,
  ended: Ended,
  signals: Signals,
  idle: boolean,
  decided: LoopState,
): IterationRecord {
  const startedAt = before.lastDecision?.at ?? before.startedAt;
  return {
    loopId: after.loopId,
    iteration: after.iteration,
    idleIterations: after.idleIterations,
    kind: idle ? 'idle' : 'working',
    startedAt,
    endedAt: ended.at,
    durationMs: elapsed(startedAt, ended.at),
    findings: signals.findings,
    states: [...signals.states],
    claimed: signals.completion === 'claimed',
    toolCalls: ended.toolCalls,
    deniedCalls: ended.deniedCalls,
    outputTokens: ended.usage?.outputTokens ?? null,
    decision: decided.status === 'ended' ? decided.ended.as : decided.status,
  };
}

function sameDelivery(before: LoopState['lastTurn'], now: NonNullable<LoopState['lastTurn']>): boolean {
  return (
    before !== null &&
    before.promptId === now.promptId &&
    before.text === now.text &&
    before.transcriptMark === now.transcriptMark
  );
}
