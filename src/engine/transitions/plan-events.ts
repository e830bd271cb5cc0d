import { shorten } from '../../text/quote.ts';
import type { Effect, EventOf } from '../events.ts';
import { failureLines, reasonText } from '../messages.ts';
import { blockedIn, type PlanAttempt, planOf, planStop, type ToldTask, withDone } from '../plan/attempt.ts';
import { statedBlockers } from '../plan/blockers.ts';
import { passedOverText, planStopText } from '../plan/messages.ts';
import { nextPlanTask, type PlanTask, planKey, readyTasks } from '../plan/task-order.ts';
import { CLOSED_BREAKER } from '../policy/breaker.ts';
import { proofOf } from '../policy/proof.ts';
import { missingTestsText } from '../proof-texts.ts';
import type { Policy } from '../schema/contract.ts';
import type { PlanState } from '../schema/plan.ts';
import type { Proof } from '../schema/proof.ts';
import type { LiveState, LoopState, StateOf } from '../schema/state.ts';
import { readSignals } from '../signals/signals.ts';
import { end, event, headOf, overtaken, running, type Transition } from './build.ts';
import { decideNext, type Ended, iterationEnded } from './iteration-ended.ts';

type PlanPolicy = NonNullable<Policy['plan']>;

/** Maximum length of the agent's last message in the progress file and the next hand-off. */
const REPORT_LIMIT = 2_000;

/**
 * Handles the end of a turn over a plan. Every turn is a claim, unless its report says otherwise or names a blocker: the
 * driver verifies it, and the report is kept.
 */
export function planTurnEnded(state: LiveState, ended: Ended, policy: Policy): Transition {
  const next = iterationEnded(state, { ...ended, taskDone: true }, policy);
  if (next.state.status !== 'verifying') return next;
  const { states } = readSignals(ended.text, policy);
  const said = states.includes('blocked')
    ? 'blocked'
    : states.includes('partial')
      ? 'partial'
      : statedBlockers(ended.text) === null
        ? 'done'
        : 'blocked';
  const report = { text: shorten(ended.text.trim(), REPORT_LIMIT), said } as const;
  return { ...next, state: { ...next.state, plan: { ...planOf(next.state), report } } };
}

/** Chooses the task of the next prompt from the current plan, or ends the loop. */
export function planRead(state: LiveState, { at, tasks, commit }: EventOf<'plan-read'>, policy: Policy): Transition {
  if (state.status !== 'running' || !policy.plan) return overtaken(state);
  const known = planOf(state);
  const currentKey = known.current && planKey(known.current.id);
  const ticked = tasks.some(({ id, status }) => planKey(id) === currentKey && status === 'done');
  // The engine was killed between its commit and the record of it.
  const settled = ticked && known.current !== null ? withDone(known, known.current.id) : known;
  const begins = settled.blocked === null;
  const plan: PlanState = { ...settled, blocked: settled.blocked ?? blockedIn(tasks) };
  const loop = { ...state, plan };
  const stop = planStop(plan, tasks, policy.plan);
  if (stop !== null) {
    const message = planStopText(stop, plan, tasks, state.taskPath);
    return end(loop, at, stop.as, message, stop.as === 'complete' ? 'none' : null);
  }
  const task = chosen(plan, tasks, policy.plan);
  if (task === null) return overtaken(loop);
  const same = plan.current !== null && planKey(plan.current.id) === planKey(task.id);
  const current = { id: task.id, title: task.title, commit: same ? (plan.current?.commit ?? commit) : commit };
  const next: LoopState = { ...loop, plan: { ...plan, current, attempts: same ? plan.attempts : 0 } };
  return { state: next, effects: [...(begins ? passedOver(tasks, policy.plan) : []), ...began(next, at, task, same)] };
}

/** Continues after a verified attempt: with the next task, the same one again with the reasons, or the end. */
export function planVerified(
  state: StateOf<'verifying'>,
  { at, results, baseline, changed }: EventOf<'verified'>,
  attempt: PlanAttempt,
  policy: Policy,
): Transition {
  const { task, as, notes, work } = attempt;
  const failed = results.filter(({ outcome }) => outcome !== 'ok');
  const reasons = failed.map(reasonText);
  const told: Effect[] = notes.map((message) => ({ type: 'notify', message }));
  const stated = as === 'blocked' && reasons.length === 0 ? statedBlockers(planOf(state).report?.text ?? '') : null;
  const why = stated === null ? reasons : [stated];
  const named = event(state, at, `plan.task-${as}`, {
    task: task.id,
    ...work,
    ...(why.length > 0 && { reasons: why }),
  });
  const next = follow(state, at, attempt, why, policy, proofOf({ baseline, results, changed }));
  const missing = as === 'done' ? missingTestsText({ baseline, results }) : null;
  const verdictLine = [verdictText(attempt), ...(missing === null ? [] : [missing])].join(' ');
  const lines = failureLines(failed, state);
  const message = [verdictLine, ...lines].join('\n');
  // A blocked task ends the loop, and its last message gives the first line of the reason.
  const isTold = as === 'blocked' && policy.plan !== undefined && lines.length <= 1;
  const verdict: Effect[] = isTold ? [] : [{ type: 'notify', message }];
  return { state: next.state, effects: [named, ...told, ...verdict, ...next.effects] };
}

function follow(
  state: StateOf<'verifying'>,
  at: string,
  { task, as, tasks }: PlanAttempt,
  reasons: readonly string[],
  policy: Policy,
  proof: Proof,
): Transition {
  const before = planOf(state);
  const failure = state.verifying.failure ?? null;
  switch (as) {
    case 'done': {
      const plan = withDone(before, task.id);
      // The next reply is about another task, so its similarity to this one means nothing.
      const loop = { ...running(state), plan, breaker: CLOSED_BREAKER };
      const stop = policy.plan ? planStop(plan, tasks, policy.plan) : null;
      if (stop !== null) {
        const message = planStopText(stop, plan, tasks, state.taskPath);
        return end(loop, at, stop.as, message, stop.as === 'complete' ? proof : null);
      }
      return decideNext(loop, at, policy, null);
    }
    case 'blocked': {
      const plan = { ...before, current: null };
      const loop = { ...running(state), plan };
      const stop = policy.plan ? planStop(plan, tasks, policy.plan) : null;
      const why = headOf(reasons[0] ?? '');
      const message = stop === null ? `Blocked: ${task.id}.` : planStopText(stop, plan, tasks, state.taskPath, why);
      return end(loop, at, 'blocked', message);
    }
    case 'partial':
    case 'returned':
    case 'failed': {
      const attempts = before.attempts + (as === 'failed' ? 1 : 0);
      const plan = { ...before, attempts, ...(as === 'returned' && { returned: true }) };
      const loop = { ...running(state), plan, notices: { ...state.notices, rejection: [...reasons] } };
      return decideNext(loop, at, policy, failure);
    }
    default:
      return as satisfies never;
  }
}

/** Returns the current task while it can still be worked on, else the next one; null if there is none. */
function chosen({ current }: PlanState, tasks: readonly ToldTask[], { from, only }: PlanPolicy): PlanTask | null {
  if (only !== undefined) return readyTasks(tasks).find(({ id }) => planKey(id) === planKey(only)) ?? null;
  const begun = current && readyTasks(tasks).find(({ id }) => planKey(id) === planKey(current.id));
  return begun ?? nextPlanTask(tasks, from).next;
}

function passedOver(tasks: readonly ToldTask[], { from, only }: PlanPolicy): Effect[] {
  const message = only === undefined ? passedOverText({ choice: nextPlanTask(tasks, from) }) : null;
  return message === null ? [] : [{ type: 'notify', message }];
}

function began(state: LoopState, at: string, { id, title }: PlanTask, again: boolean): Effect[] {
  return again ? [] : [event(state, at, 'plan.task-began', { task: id, title })];
}

function verdictText({ task: { id }, as, tasks, proof }: PlanAttempt): string {
  const done = tasks.filter(({ status }) => status === 'done').length;
  const texts: Readonly<Record<PlanAttempt['as'], string>> = {
    done: `${id} is done and committed (${done} of ${tasks.length}).${proof === undefined ? '' : ` Proof: ${proof}.`}`,
    failed: `${id} did not pass; it will be tried once more.`,
    returned: `${id} does not fit what other tasks have done meanwhile; its agent gets it back once.`,
    partial: `${id} is partly done and continues.`,
    blocked: `${id} is blocked.`,
  };
  return texts[as];
}
