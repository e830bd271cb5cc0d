import { sampleBreaker } from '../breaker/breaker.ts';
import { digest } from '../digest.ts';
import { NOT_IDLE } from '../idle.ts';
import { normalisedError } from '../normalised-error.ts';
import { normalisedReply } from '../normalised-reply.ts';
import type { Policy } from '../schema/policy.ts';
import type { LoopState } from '../schema/state.ts';
import { readSignals, type Signals } from '../signals.ts';
import { addUsage } from '../usage.ts';
import { event, prompt, release, releasePaused, running, type Transition } from './common.ts';
import { type Account, conclude, type Ended, type Live, noted, type Running, statesOf } from './conclude.ts';
import { decide, withinLimits } from './decide.ts';
import { type Seldom, STRUGGLE } from './seldom.ts';

const UNEVENTFUL: Account = { warnings: [], failure: null, progress: {} };

/** The agent's turn is over: is it an iteration, and what follows from it? */
export function iterationEnded(state: Live, ended: Ended, policy: Policy, seldom: Seldom): Transition {
  if (state.status === 'awaiting-consent') {
    return release(state, 'this loop awaits your consent: main.cjs start --consent.');
  }
  const delivery = { promptId: ended.promptId, text: digest(ended.text), transcriptMark: ended.transcriptMark };
  if (sameDelivery(state.lastTurn, delivery)) return { state, effects: [{ type: 'ignore' }] };
  const heard: Live = {
    ...state,
    lastTurn: delivery,
    promptId: ended.promptId,
    handedOver: null,
    usage: addUsage(state.usage, ended.usage, ended.costUsd),
  };
  if (heard.status === 'paused') return releasePaused(heard);
  const users = state.turn === 'user' || ended.origin === 'user';
  if (state.stopRequested && users) return seldom.endBy(heard, ended.at, policy, { by: 'user' });
  if (ended.origin === 'user' && state.turn === 'agent') return seldom.interrupted(heard, ended.at);
  return users ? afterUserTurn(heard, ended.at, policy, seldom) : count(heard, ended, policy, seldom);
}

/** The answer to the user is neither counted nor read for signals; the loop goes on where it was. */
function afterUserTurn(state: Live, at: string, policy: Policy, { endBy }: Seldom): Transition {
  const answered = event(state, at, 'user.answered');
  if (state.status === 'waiting') {
    return {
      state: { ...state, turn: 'rest', lastDecision: { at, kind: 'wait', detail: 'after the user' } },
      effects: [answered, { type: 'wait', until: state.waiting.until }],
    };
  }
  const next = withinLimits(running(state), at, policy, endBy, (warned) => prompt(warned, at, 'after the user'));
  return { state: next.state, effects: [answered, ...next.effects] };
}

function count(state: Live, ended: Ended, policy: Policy, seldom: Seldom): Transition {
  const heard = readSignals(ended.text, policy);
  const signals: Signals = ended.taskDone ? { ...heard, completion: 'claimed' } : heard;
  const failed = ended.error !== null || ended.timedOut;
  // Idle gives way to the other signals. A failed turn is not idle.
  if (policy.idle && signals.states.includes('idle') && isQuiet(signals) && !failed) {
    return seldom.idle(state, ended, policy, policy.idle, signals);
  }
  const counted = countWorking(state, ended, signals, policy);
  const eventful = failed || ended.failedShellCalls >= STRUGGLE || policy.pace.tracksProgress;
  const account = eventful ? seldom.account(counted, ended, policy) : UNEVENTFUL;
  const next = noted(counted, ended, policy, signals, account);
  const said = { findings: signals.findings, ...statesOf(signals) };
  const named = failed
    ? event(next, ended.at, 'iteration.failed', { ...said, error: ended.error ?? 'timed out' })
    : event(next, ended.at, 'iteration.completed', said);
  const verdict =
    signals.completion === 'claimed'
      ? seldom.verify(next, ended.at, account.failure)
      : decide(next, ended.at, policy, account.failure, seldom.endBy, (warned) =>
          policy.pace.delayMs > 0 ? seldom.pace(warned, ended.at, policy) : prompt(warned, ended.at, 'next iteration'),
        );
  return conclude(state, next, ended, signals, 'working', named, verdict);
}

function isQuiet({ completion, findings }: Signals): boolean {
  return completion !== 'claimed' && findings === null;
}

function countWorking(state: Live, ended: Ended, signals: Signals, policy: Policy): Running {
  const normalised = normalisedReply(ended.text, policy);
  return {
    ...running(state),
    iteration: state.iteration + 1,
    idle: NOT_IDLE,
    lastFindingsCount: signals.findings ?? state.lastFindingsCount,
    breaker: sampleBreaker(state.breaker, {
      findings: signals.findings,
      reply: normalised === '' && (ended.toolCalls > 0 || ended.callsUnknown) ? null : digest(normalised),
      error: ended.error && normalisedError(ended.error),
      progress: ended.progress,
      toolCalls: ended.toolCalls,
      deniedCalls: ended.deniedCalls,
      scenario: ended.scenario,
    }),
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
