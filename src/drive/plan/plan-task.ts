import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect } from '../../engine/effects.ts';
import type { CheckResult } from '../../engine/events.ts';
import { attemptVerdict, type PlanAttempt } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { fileTask, tellBegin } from '../prompt/file-task.ts';
import { applyEffects } from '../turn/apply-effects.ts';
import { dispatch, handleAbort } from '../turn/dispatch.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Listener, type OpenedPrompt, runChecks, type TaskKind } from '../turn/task-kind.ts';
import { isStep, type PromptStep, type Turn } from '../turn/turn.ts';
import { recoverCommit } from './commit-journal.ts';
import { examineWork } from './examine-work.ts';
import { finishBlocked, finishPartial, finishTask } from './finish-task.ts';
import { PLAN_TEXTS } from './messages.ts';
import { openTask, planPrompt } from './open-task.ts';
import { readOpenTask } from './open-task-file.ts';
import { type PlanPlace, planIn } from './plan-place.ts';

export const planTask: TaskKind = {
  openPrompt,
  verify: (turn) => verifyAttempt(openPlace(turn).place, () => runChecks(turn)),
};

function openPlace(turn: Turn): { readonly place: PlanPlace; readonly after: () => Turn } {
  const { context, signal, loaded } = turn;
  const contract = loaded.stored?.contract;
  if (contract === undefined) throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  let current = turn;
  const place: PlanPlace = {
    ...context,
    contract,
    signal,
    state: () => current.loaded.state,
    dispatch: (event) => {
      const dispatched = dispatch(current, event);
      current = dispatched.turn;
      return dispatched.effects;
    },
  };
  return { place, after: () => current };
}

async function openPrompt(turn: Turn, step: PromptStep, listener: Listener): Promise<OpenedPrompt> {
  const { context, signal } = turn;
  const { place, after } = openPlace(turn);
  let effects: readonly Effect[];
  try {
    effects = await openTask(place);
  } catch (error) {
    if (signal.aborted) return handleAbort(after());
    throw error;
  }
  if (effects.some(isStep)) return { turn: after(), effects };
  applyEffects(context.files, context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') listener.notify(after(), effect.message);
  const assembled = planPrompt(place, step);
  if (assembled === null) return fileTask.openPrompt(after(), step, listener);
  tellBegin(after(), listener);
  return { turn: after(), made: { step, assembled, path: null, isTaskFile: false } };
}

export type RunChecks = () => Promise<readonly CheckResult[]>;

export interface VerifiedAttempt {
  readonly results: readonly CheckResult[];
  readonly plan: PlanAttempt;
}

/** Verifies and records the attempt that just ended. Rejects with the abort's reason while nothing is written. */
export async function verifyAttempt(place: PlanPlace, runChecks: RunChecks): Promise<VerifiedAttempt> {
  const { files, contract } = place;
  const committed = await recoverCommit(place);
  const plan = planIn(place);
  const task = readOpenTask(files, contract.loopId);
  // A turn that a user began by hand before any task was opened.
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
  const { notes, changes, ...looked } = await examineWork(place, task, plan.report?.said === 'done');
  const results: CheckResult[] = [...looked.results];
  // Only a claim of completion has something to prove.
  if (plan.report?.said === 'done') results.push(...(await runChecks()));
  const settled = { changes, results };
  const told = [...notes];
  const passed = results.every(({ outcome }) => outcome === 'ok');
  let as = attemptVerdict(plan, passed);
  if (as === 'done') {
    // The commit is not aborted halfway.
    const calm = { ...place, signal: new AbortController().signal };
    const done = await finishTask(calm, task, settled);
    if (done.problem !== null) {
      results.push(done.problem);
      as = attemptVerdict(plan, false);
    } else told.push(...done.notes);
  }
  if (as === 'blocked') finishBlocked(place, task, settled);
  if (as === 'partial') finishPartial(place, task, settled);
  return { results, plan: { task: { id: task.id, title: task.title }, as, tasks: tasksOf(place), notes: told } };
}

function tasksOf({ files, contract }: PlanPlace): PlanAttempt['tasks'] {
  try {
    return readPlan(readFileSync(join(files.projectDir, contract.taskPath), 'utf8')).tasks;
  } catch {
    return []; // a missing plan is reported when the next prompt is made
  }
}
