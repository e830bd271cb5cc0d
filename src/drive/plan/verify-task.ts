import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../core/events.ts';
import { attemptVerdict, type PlanAttempt } from '../../core/plan-attempt.ts';
import { planKey } from '../../core/plan-task.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { lookAtWork } from './look-at-work.ts';
import { readOpenTask } from './open-task-file.ts';
import { type PlanPlace, planIn } from './plan-place.ts';
import { settleBlocked, settlePartial, settleTask } from './settle-task.ts';
import { recoverSettling } from './settling.ts';
import { PLAN_TEXTS } from './texts.ts';

export type RunChecks = () => Promise<readonly CheckResult[]>;

/** What verifying came to: every check's result, and what the attempt is worth. */
export interface VerifiedAttempt {
  readonly results: readonly CheckResult[];
  readonly plan: PlanAttempt;
}

/**
 * Verifies the attempt that just ended, and writes what follows from it: entry, tick and commit of a task that passed;
 * the mark and the reasons of one that is blocked. Rejects with the abort's reason while nothing is written yet.
 */
export async function verifyAttempt(place: PlanPlace, runChecks: RunChecks): Promise<VerifiedAttempt> {
  const { files, contract } = place;
  const committed = await recoverSettling(place);
  const plan = planIn(place);
  const task = readOpenTask(files, contract.loopId);
  // A turn that a user began by hand, before any task was opened: the next prompt opens one.
  if (plan.current === null) {
    const task = { id: 'the plan', title: '' };
    return { results: [], plan: { task, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (task === null || planKey(task.id) !== planKey(plan.current.id)) {
    const results: CheckResult[] = [{ name: 'plan', outcome: 'unavailable', detail: PLAN_TEXTS.unknownStart }];
    return { results, plan: { task: plan.current, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (committed !== null && planKey(committed) === planKey(task.id)) {
    return { results: [], plan: { task, as: 'done', tasks: tasksOf(place), notes: [] } };
  }
  const { notes, changes, ...looked } = await lookAtWork(place, task, plan.report?.said === 'done');
  const results: CheckResult[] = [...looked.results];
  // What is done in part, or not at all by the agent's own word, has nothing to prove.
  if (plan.report?.said === 'done') results.push(...(await runChecks()));
  const settled = { changes, results };
  const told = [...notes];
  const passed = results.every(({ outcome }) => outcome === 'ok');
  let as = attemptVerdict(plan, passed);
  if (as === 'done') {
    // Half of a commit is worse than one that came late.
    const calm = { ...place, signal: new AbortController().signal };
    const done = await settleTask(calm, task, settled);
    if (done.problem !== null) {
      results.push(done.problem);
      as = attemptVerdict(plan, false);
    } else told.push(...done.notes);
  }
  if (as === 'blocked') settleBlocked(place, task, settled);
  if (as === 'partial') settlePartial(place, task, settled);
  return { results, plan: { task: { id: task.id, title: task.title }, as, tasks: tasksOf(place), notes: told } };
}

function tasksOf({ files, contract }: PlanPlace): PlanAttempt['tasks'] {
  try {
    return readPlan(readFileSync(join(files.projectDir, contract.taskPath), 'utf8')).tasks;
  } catch {
    return []; // a plan that is gone is told when the next prompt is made
  }
}
