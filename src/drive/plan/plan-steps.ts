import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect, Told } from '../../engine/effects.ts';
import type { CheckResult } from '../../engine/events.ts';
import { attemptVerdict, type PlanAttempt } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { AssembledPrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { unlessOvertaken } from '../turn/abort-if-superseded.ts';
import { carryOut } from '../turn/apply-effects.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { feed, isStep, type Turn, toldToGo } from '../turn/turn.ts';
import { recoverSettling } from './commit-journal.ts';
import { lookAtWork } from './examine-work.ts';
import { settleBlocked, settlePartial, settleTask } from './finish-task.ts';
import { PLAN_TEXTS } from './messages.ts';
import { openTask, planPrompt } from './open-task.ts';
import { readOpenTask } from './open-task-file.ts';
import { type PlanPlace, planIn } from './plan-place.ts';

/** Only of a loop over a plan. */
function placeOf(turn: Turn, contract: Contract): PlanPlace {
  const { context, options } = turn;
  return {
    files: context.files,
    contract,
    state: () => turn.loaded.state,
    env: context.env,
    signal: options.signal,
    now: context.now,
    feed: (event) => feed(turn, event),
  };
}

/**
 * Opens the plan's next task, for the prompt that comes next. Gives what has to be done instead of a prompt, or null;
 * what the user has to hear goes through `tell`.
 */
export async function openStep(
  turn: Turn,
  contract: Contract,
  tell: (message: string) => void,
): Promise<readonly Effect[] | null> {
  const { context, options } = turn;
  let effects: readonly Effect[];
  try {
    effects = await openTask(placeOf(turn, contract));
  } catch (error) {
    if (options.signal.aborted) return toldToGo(turn);
    throw error;
  }
  if (effects.some(isStep)) return effects;
  carryOut(context.files, context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') tell(effect.message);
  return null;
}

/** The prompt of the task that openStep has opened. */
export function promptStep(turn: Turn, contract: Contract, told: Told): AssembledPrompt | null {
  return planPrompt(placeOf(turn, contract), told);
}

const GIVEN_UP: CheckResult = { name: 'checks', outcome: 'unavailable', detail: HOOK_TEXTS.checksGivenUp };

/** Verifies the attempt that ended, writes what follows from it, and tells the engine. */
export async function verifyPlanStep(turn: Turn, contract: Contract): Promise<readonly Effect[]> {
  const { context, options, loaded } = turn;
  const { files, env } = context;
  const { contractHash, iteration } = loaded.state;
  const checked = await unlessOvertaken(files, loaded.state, options.signal, (signal) =>
    verifyAttempt({ ...placeOf(turn, contract), signal }, () =>
      options.work.runChecks(loaded.stored, files.projectDir, { signal, env, contractHash, iteration }),
    ),
  );
  if (checked === 'aborted') return toldToGo(turn);
  const at = context.now();
  // What was given up proves nothing, should the loop be at its claim again.
  if (checked === 'overtaken') return feed(turn, { type: 'verified', at, results: [GIVEN_UP] });
  return feed(turn, { type: 'verified', at, ...checked });
}

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
