import { digest } from '../../text/digest.ts';
import { render } from '../../text/message.ts';
import type { CheckResult, Effect, EventOf } from '../events.ts';
import { completeText, failureLines, reasonText, rejectedText, unclaimedText } from '../messages.ts';
import { EMPTY_STREAK, nextStreak } from '../policy/breaker.ts';
import { countsOf, proofOf } from '../policy/proof.ts';
import type { Policy } from '../schema/contract.ts';
import type { LoopState, StateOf } from '../schema/state.ts';
import { end, event, headOf, overtaken, running, type Transition } from './build.ts';
import { decideNext } from './iteration-ended.ts';
import { planVerified } from './plan-events.ts';

/** Accepts the claim after the checks ran, or rejects it with their reasons and continues. */
export function verified(before: LoopState, happened: EventOf<'verified'>, policy: Policy): Transition {
  // The loop was paused or ended while the checks ran.
  if (before.status !== 'verifying') return overtaken(before);
  const checks = happened.results.map(standOf);
  const state = checks.length === 0 ? before : { ...before, checks };
  if (happened.plan) return planVerified(state, happened, happened.plan, policy);
  if (state.verifying.unclaimed) return decideNext(withUnclaimed(state, happened.results), happened.at, policy, null);
  const failed = happened.results.filter(({ outcome }) => outcome !== 'ok');
  if (failed.length === 0) {
    const facts = { results: happened.results, baseline: happened.baseline, changed: happened.changed };
    const proof = proofOf(facts);
    return end(state, happened.at, 'complete', completeText(proof, facts, state.iteration), proof);
  }
  return reject(state, happened.at, failed, policy);
}

/** Returns a result as the state keeps it: with the first line of the reason, without secrets, if it failed, and its counts. */
function standOf({ name, outcome, detail, tests }: CheckResult): NonNullable<LoopState['checks']>[number] {
  const why = headOf(detail);
  return { name, outcome, ...(outcome !== 'ok' && why !== '' && { why }), ...(tests && { tests: countsOf(tests) }) };
}

/** Keeps for the end of a loop whose agent never said that it was done what the checks say. */
function withUnclaimed(state: StateOf<'verifying'>, results: readonly CheckResult[]): StateOf<'running'> {
  const told = results.length === 0 ? [] : [unclaimedText(results.find(({ outcome }) => outcome !== 'ok'))];
  const hints = [...told, state.notices.misplacedSignal ?? []].flat();
  return { ...running(state), notices: { ...state.notices, misplacedSignal: hints.join(' ') || null } };
}

function reject(state: StateOf<'verifying'>, at: string, failed: CheckResult[], policy: Policy): Transition {
  const reasons = failed.map(reasonText);
  const gateFailures = nextStreak(
    state.gateFailures,
    failed.map(({ name, outcome }) => `${name}:${outcome}`).join(','),
  );
  const rejected: StateOf<'running'> = {
    ...running(state),
    gateFailures,
    breaker: withRefusal(state),
    notices: { ...state.notices, rejection: reasons },
  };
  const next = decideNext(rejected, at, policy, state.verifying.failure ?? null);
  const rejection = event(state, at, 'completion.rejected', { reasons });
  const message = [render(rejectedText(failed), state), ...failureLines(failed, state)].join('\n');
  const said: Effect = { type: 'notify', message };
  return {
    state: next.state,
    effects: [rejection, ...repeatedSign(gateFailures.repeats, failed), said, ...next.effects],
  };
}

/** Counts refused claims with equal results, where it is known that the project has not changed between them. */
function withRefusal({ breaker, projectMark, unknownProgress, checks }: StateOf<'verifying'>): LoopState['breaker'] {
  if (projectMark === null && unknownProgress === undefined) return breaker;
  const stands = digest(JSON.stringify([projectMark, unknownProgress, checks]));
  return { ...breaker, sameRefusal: nextStreak(breaker.sameRefusal ?? EMPTY_STREAK, stands) };
}

/** Adds a sign after the same gate has failed twice in a row. */
function repeatedSign(repeats: number, failed: readonly CheckResult[]): Effect[] {
  if (repeats !== 1) return [];
  const names = failed.map(({ name }) => name).join(', ');
  return [
    {
      type: 'add-sign',
      sign: {
        name: `Completion rejected twice: ${names}`,
        trigger: `Before claiming completion while ${names} may still fail.`,
        instruction: 'Run each failed command yourself and read its output to the end; write each missing file.',
        addedAfter: failed.map(reasonText).join('; ').slice(0, 300),
      },
    },
  ];
}
