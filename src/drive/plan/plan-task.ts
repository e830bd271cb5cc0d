import { join } from 'node:path';
import type { CheckResult, Effect } from '../../engine/events.ts';
import { attemptVerdict, isForUser, misfitVerdict, type PlanAttempt } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import {
  baselineOf,
  hasEvidence,
  mayBeProved,
  proofLine,
  type TaskWork,
  taskProof,
} from '../../engine/policy/proof.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/message.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { iterationStarted } from '../records/live-events.ts';
import { type OpenTask, readIntent, readOpenTask, writeOpenTask } from '../records/open-task-file.ts';
import { fileTask } from '../turn/file-task.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Listener, type OpenedPrompt, runChecks, type TaskKind } from '../turn/task-kind.ts';
import { dispatch, handleAbort, isStep, type PromptStep, type Turn } from '../turn/turn.ts';
import type { CheckedWork } from './commit-journal.ts';
import { examineWork } from './examine-work.ts';
import { finishBlocked, finishPartial, type Proved, proveWork } from './finish-task.ts';
import { integrateTask, recoverTask, takesOtherText, withMarkers } from './integrate-task.ts';
import { PART_TEXTS, PLAN_TEXTS } from './messages.ts';
import { openTask, planPrompt } from './open-task.ts';
import { type PlanChecks, type PlanPlace, planIn, withOwnOpen } from './plan-place.ts';

export const planTask: TaskKind = {
  openPrompt,
  verify: (turn) =>
    verifyAttempt(openPlace(turn).place, {
      inProject: () => runChecks(turn, { where: 'project' }),
      on: (commit) => runChecks(turn, { where: 'commit', commit }),
    }),
};

function openPlace(turn: Turn): { readonly place: PlanPlace; readonly after: () => Turn } {
  const { context, loaded } = turn;
  const contract = loaded.stored?.contract;
  if (contract === undefined) throw new RalphError('contract-changed', HOOK_TEXTS.contractChanged);
  let current = turn;
  const place: PlanPlace = {
    ...context,
    contract,
    signal: turn.signal(),
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
  const { context } = turn;
  const { place, after } = openPlace(turn);
  let effects: readonly Effect[];
  try {
    effects = await openTask(place);
  } catch (error) {
    if (place.signal.aborted) return handleAbort(after());
    throw error;
  }
  if (effects.some(isStep)) return { turn: after(), effects };
  applyEffects(context.files, context.now(), effects);
  for (const effect of effects) if (effect.type === 'notify') listener.notify(after(), effect.message);
  const assembled = planPrompt(place, step);
  if (assembled === null) return fileTask.openPrompt(after(), step, listener);
  listener.tell(after(), iterationStarted(after().loaded.state));
  return { turn: after(), made: { step, assembled, path: null, isTaskFile: false } };
}

/** Verifies and records the attempt that just ended. Rejects with the abort reason before anything is written. */
async function verifyAttempt(place: PlanPlace, checks: PlanChecks): ReturnType<TaskKind['verify']> {
  const { files, contract } = place;
  const committed = await recoverTask(place);
  const plan = planIn(place);
  const opened = readOpenTask(files, contract);
  // The user began a turn by hand before any task was opened.
  if (plan.current === null) {
    const task = { id: 'the plan', title: '' };
    return { results: [], plan: { task, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (opened === null || planKey(opened.id) !== planKey(plan.current.id)) {
    const results: CheckResult[] = [{ name: 'plan', outcome: 'unavailable', detail: PLAN_TEXTS.unknownStart }];
    return { results, plan: { task: plan.current, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (committed !== null && planKey(committed) === planKey(opened.id))
    return { results: [], plan: { task: opened, as: 'done', tasks: tasksOf(place), notes: [] } };
  const { task, notes, changes, within, ...looked } = await examineWork(place, opened);
  const evidence: TaskWork = {
    changes: within,
    noChange: task.noChange?.includes(planKey(task.id)) === true,
    baseline: task.baseline,
  };
  const results: CheckResult[] = [...looked.results];
  let proved: Proved = { results: [], commit: null };
  const marked = withMarkers(place, task);
  if (marked.length > 0) results.push({ name: 'integration', outcome: 'failed', detail: PART_TEXTS.markers(marked) });
  // Only a claim of completion requires proof.
  if (plan.report?.said === 'done') {
    const passed = results.length === 0;
    if (mayBeProved(evidence) && passed) proved = await proveWork(place, task, { changes, evidence }, checks);
    // Work that already fails is not committed: the checks run for the agent.
    else if (mayBeProved(evidence)) proved = { results: await checks.inProject(), commit: null };
    results.push(...proved.results);
    if (!hasEvidence(evidence, results)) results.push(noEvidence(task, isForUser(plan)));
  }
  const passed = results.every(({ outcome }) => outcome === 'ok');
  const isOther = passed && plan.report?.said === 'done' && takesOtherText(place, task);
  if (isOther) results.push({ name: 'plan', outcome: 'failed', detail: PLAN_TEXTS.otherText(task.id, task.planPath) });
  // No attempt was made at the new text.
  const verdict = isOther ? 'partial' : attemptVerdict(plan, passed);
  // Plan, progress file and branch change in the plan's order.
  const part = verdict === 'done' || verdict === 'blocked' ? place.part : undefined;
  const inTurn = part === undefined ? place : { ...place, session: await part.takeTurn(place.signal) };
  const ended: Ended =
    verdict === 'done'
      ? await finishDone(inTurn, task, { changes, results, evidence, commit: proved.commit }, checks)
      : { as: verdict, work: { changes, results, evidence }, notes: [] };
  if (ended.as === 'blocked') finishBlocked(inTurn, readOpenTask(files, contract) ?? task, ended.work);
  const done = ended.as === 'done' ? doneWith(place, evidence, ended.work.results) : null;
  part?.endTurn(done?.work ?? null);
  if (ended.as === 'partial') finishPartial(place, task, ended.work);
  const attempt = { task: { id: task.id, title: task.title }, as: ended.as, tasks: tasksOf(place), ...done };
  return { results: ended.work.results, plan: { ...attempt, notes: [...notes, ...ended.notes] } };
}

function doneWith(
  { files, contract }: PlanPlace,
  evidence: TaskWork,
  results: readonly CheckResult[],
): Pick<PlanAttempt, 'proof' | 'work'> {
  const commit = readIntent(files, contract)?.made ?? null;
  return {
    proof: proofLine(evidence, results),
    work: { proof: taskProof(evidence, results), files: evidence.changes.length, commit },
  };
}

function noEvidence({ id }: OpenTask, forUser: boolean): CheckResult {
  const text = forUser ? PLAN_TEXTS.nothingChangedForUser : PLAN_TEXTS.nothingChanged;
  return { name: 'work', outcome: 'failed', detail: text(id) };
}

interface Ended {
  readonly as: PlanAttempt['as'];
  readonly work: CheckedWork;
  readonly notes: readonly string[];
}

/** Commits passed work, alone or on top of the commits of other tasks. */
async function finishDone(
  place: PlanPlace,
  task: OpenTask,
  work: CheckedWork & Pick<Proved, 'commit'>,
  checks: PlanChecks,
): Promise<Ended> {
  const plan = planIn(place);
  writeOpenTask(place.files, { ...task, verified: baselineOf(work.results) });
  const { end, ...ended } = await integrateTask(place, task, work, checks);
  const verdicts: Readonly<Record<typeof end, Ended['as']>> = {
    done: 'done',
    misfit: misfitVerdict(plan),
    failed: attemptVerdict(plan, false),
    rejected: 'blocked',
  };
  return { ...ended, as: verdicts[end] };
}

function tasksOf(place: PlanPlace): PlanAttempt['tasks'] {
  const { files, contract, part } = place;
  // The text as just committed: a hook may have removed or emptied the plan since, which would leave no open tasks.
  const committed = readIntent(files, contract)?.after;
  const now = committed ?? readRegularFile(join(part?.mainDir ?? files.projectDir, contract.taskPath));
  // A missing plan is reported when the next prompt is made.
  return readPlan(committed ?? withOwnOpen(place, now ?? '')).tasks;
}
