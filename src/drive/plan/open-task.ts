import { join } from 'node:path';
import type { Effect, Told } from '../../engine/events.ts';
import { isLastAttempt, withoutChangeIn } from '../../engine/plan/attempt.ts';
import { lastProgress } from '../../engine/plan/progress-entry.ts';
import { planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { assemblePlanPrompt } from '../../engine/prompt/assemble-plan-prompt.ts';
import { type AssembledPrompt, section } from '../../engine/prompt/assemble-prompt.ts';
import { recordNotice } from '../../state/event-stream.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { hiddenFiles, readRepository } from '../../task/git/read-repository.ts';
import { resolveScope } from '../../task/git/task-scope.ts';
import { holdPlan, type PlanFile, readPlan, tickTask } from '../../task/plan/read-plan.ts';
import { extraSections, guardrailsPath } from '../prompt/extra-sections.ts';
import { dropIntent, type OpenTask, readIntent, readOpenTask, writeOpenTask } from '../records/open-task-file.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { replaceText } from './commit-journal.ts';
import { isOfTask, marksOf } from './examine-work.ts';
import { adoptPlan, copyPlan, moveTask, recoverTask, switchTree, withMarkers } from './integrate-task.ts';
import { heldTexts, PART_TEXTS, PLAN_TEXTS } from './messages.ts';
import type { PartPlace, PlanPlace } from './plan-place.ts';
import { gitOptions, linkText, ownPaths, planIn, progressOf, readMain, withOwnOpen } from './plan-place.ts';

/** Recovers an interrupted commit, reads the plan and opens the next task. Rejects with the abort's reason. */
export async function openTask(place: PlanPlace): Promise<readonly Effect[]> {
  const { files, contract, dispatch, now, part } = place;
  const directory = files.projectDir;
  const committed = await recoverTask(place);
  // If others run beside it, the main project's plan counts.
  const catchesUp = part !== undefined && planIn(place).blocked === null;
  if (catchesUp) await catchUp({ ...place, part });
  const stands = await readRepository(directory, gitOptions(place));
  const { current: atWork, blocked, resumed } = planIn(place);
  const begins = blocked === null && resumed !== false;
  const before = readOpenTask(files, contract);
  const isAtWork = before !== null && atWork !== null && planKey(before.id) === planKey(atWork.id);
  // The agent left the branch or broke the repository, and may undo that: the plan found now is ignored.
  const isAway = typeof stands === 'string' || stands.branch !== before?.branch;
  const away = isAtWork && !begins && isAway ? before : null;
  const stood = away === null ? stands : { head: away.commit, branch: away.branch, changed: [] };
  if (typeof stood === 'string' || stood.head === null || stood.branch === null) {
    const message = typeof stood === 'string' ? PLAN_TEXTS.noRepository(stood) : PLAN_TEXTS.noBranch;
    return dispatch({ type: 'agent-failed', at: now(), message });
  }
  const there = away === null ? readRegularFile(join(directory, contract.taskPath)) : away.plan;
  // The loop was started because its task was open.
  const found = there !== null && before === null && committed === null ? withOwnOpen(place, there) : there;
  if (found === null)
    return dispatch({ type: 'task-missing', at: now(), message: HOOK_TEXTS.taskMissing(contract.taskPath) });
  const atStart = begins && committed === null ? planAtStart(place) : null;
  const { text, messages } = openingPlan(place, found, { committed, before, begins, atStart });
  const plan = readPlan(text);
  const broken = errorsIn(plan);
  if (broken !== null)
    return dispatch({ type: 'agent-failed', at: now(), message: PLAN_TEXTS.lint(contract.taskPath, broken) });
  const read = dispatch({ type: 'plan-read', at: now(), tasks: plan.tasks, commit: stood.head });
  const effects: readonly Effect[] = [...messages.map((message) => ({ type: 'notify' as const, message })), ...read];
  const { current } = planIn(place);
  // The engine knows about the recovered commit now.
  if (committed !== null && current?.id !== committed) dropIntent(files, contract);
  const task = current && plan.tasks.find(({ id }) => planKey(id) === planKey(current.id));
  if (!current || !task || away !== null || effects.some(({ type }) => type === 'allow')) return effects;
  const { head, branch, changed } = stood;
  const users = atStart === null ? plan.tasks : readPlan(atStart).tasks;
  const opening = { plan, users, text, before, begins, commit: current.commit, head, branch, changed };
  await storeOpened(place, task, { ...opening, isAtTip: catchesUp });
  return effects;
}

interface Opening {
  readonly plan: PlanFile;
  /** Tasks as of the user's start or resume, if an agent has worked since; otherwise those of the plan. */
  readonly users: PlanFile['tasks'];
  readonly text: string;
  readonly before: OpenTask | null;
  /** True if the user has just started or resumed the loop. */
  readonly begins: boolean;
  /** Commit from which the engine counts the task. */
  readonly commit: string;
  readonly head: string;
  readonly branch: string;
  /** Uncommitted paths. */
  readonly changed: readonly string[];
  /** True if the worktree has just been moved to the tip of the plan's branch. */
  readonly isAtTip: boolean;
}

/** Stores a task as the open one; a reopened task keeps its first records. */
async function storeOpened(place: PlanPlace, task: PlanFile['tasks'][number], opening: Opening): Promise<void> {
  const { files, contract } = place;
  const { plan, users, text, before, begins, commit, head, branch, changed, isAtTip } = opening;
  const directory = files.projectDir;
  const isSame = before !== null && planKey(before.id) === planKey(task.id);
  const { scope } = tasksByKey(users).get(planKey(task.id)) ?? task;
  const again = isSame && (before.openedAt ?? before.commit) === commit ? before : null;
  const undone = leftUndone(directory, before, plan.tasks, changed);
  const known = [...ownPaths(directory, contract.taskPath), ...(undone[planKey(task.id)] ?? [])];
  // Earlier changes do not belong to the task; the plan itself goes into the first commit.
  const dirty = changed.filter((path) => !known.includes(path));
  const baseline = again === null ? baselineNow(place, before, plan.tasks, head) : again.baseline;
  writeOpenTask(files, {
    loopId: contract.loopId,
    id: task.id,
    title: task.title,
    text: task.text,
    // The agent may have edited the plan: only a start or resume by the user widens a scope.
    scope: again !== null && !begins ? again.scope : await resolveScope(directory, scope, gitOptions(place)),
    planPath: contract.taskPath,
    progressPath: progressOf(place),
    // A process killed before it stored the task had told the engine an earlier tip.
    commit: again?.commit ?? (isAtTip && !isSame ? head : commit),
    branch: again?.branch ?? branch,
    dirty: again?.dirty ?? dirty,
    dirtyMarks: again === null ? marksOf(directory, dirty) : (again.dirtyMarks ?? {}),
    ...(baseline !== undefined && { baseline }),
    // Like a scope: the agent's edits of the plan wait for the user.
    noChange: begins ? (place.part?.noChange ?? withoutChangeIn(users)) : (before?.noChange ?? []),
    hidden: again?.hidden ?? (await hiddenFiles(directory, gitOptions(place))),
    left: undone,
    plan: text,
    planLink: linkText(join(directory, contract.taskPath)),
    progress: readRegularFile(join(directory, progressOf(place))),
    ...(isAtTip && !isSame && head !== commit && { openedAt: commit }),
    ...(again?.openedAt !== undefined && { openedAt: again.openedAt }),
    ...(again?.entries !== undefined && { entries: again.entries }),
    ...(again?.strayed !== undefined && { strayed: again.strayed }),
    ...(again?.conflicts !== undefined && { conflicts: again.conflicts }),
  });
}

/**
 * Returns the plan with which a task is opened, and messages for the user. A start or resume takes the plan as the user left
 * it, and names tasks removed or ticked since the loop last wrote it. At any other time a program made these changes, such as
 * one that the agent left running: they are reverted.
 */
function openingPlan(
  place: PlanPlace,
  found: string,
  {
    committed,
    before,
    begins,
    atStart,
  }: Pick<Opening, 'before' | 'begins'> & Readonly<Record<'committed' | 'atStart', string | null>>,
): { readonly text: string; readonly messages: readonly string[] } {
  const { files, contract, now } = place;
  const path = contract.taskPath;
  const left = planAsLeft(place, committed, before);
  const held = holdPlan((begins ? atStart : left) ?? found, found);
  if (held.text !== found) replaceText(join(files.projectDir, path), held.text);
  const messages = heldTexts(held, path);
  if (!begins) return { text: held.text, messages };
  const since = holdPlan(left ?? held.text, held.text);
  // The record of the task that was done last is older than its tick.
  const ticked = since.ticked.filter((id) => before?.verified === undefined || planKey(id) !== planKey(before.id));
  if (since.gone.length + since.renamed.length + ticked.length === 0) return { text: held.text, messages };
  const text = PLAN_TEXTS.changedSince({ ...since, ticked }, path);
  recordNotice(files, place.state(), { at: now(), kind: 'change', text });
  return { text: held.text, messages: [...messages, text] };
}

/** Returns the plan with which the user started a session, with the loop's changes; null in a runner or after a pause. */
function planAtStart(place: PlanPlace): string | null {
  const { head, body } = place.contract;
  const { done: ids, resumed } = planIn(place);
  if (body === undefined || resumed === true) return null;
  const done = ids.map(planKey);
  const isDone = ({ id, status }: PlanFile['tasks'][number]): boolean =>
    status !== 'done' && done.includes(planKey(id));
  return readPlan(head + body)
    .tasks.filter(isDone)
    .reduce(tickTask, head + body);
}

/** Returns the plan as the loop left it: after the last task's commit, or at the last attempt at the current task. */
function planAsLeft(place: PlanPlace, committed: string | null, before: OpenTask | null): string | null {
  if (committed !== null) return readIntent(place.files, place.contract)?.after ?? null;
  const { current } = planIn(place);
  // A process killed before it opened the current task left the record of the previous one.
  const isLast = before !== null && (current === null || planKey(current.id) === planKey(before.id));
  return isLast ? before.plan : null;
}

/** The fields of a task that a prompt contains. */
type PromptedTask = Pick<
  OpenTask,
  'id' | 'title' | 'text' | 'scope' | 'progressPath' | 'progress' | 'noChange' | 'conflicts'
>;

export function planPrompt(place: PlanPlace, told: Told): AssembledPrompt | null {
  const task = readOpenTask(place.files, place.contract);
  return task && promptFor(place, task, told);
}

/** Returns the prompt of the next attempt at a task; null for a loop without a plan. */
export function promptFor(
  place: Pick<PlanPlace, 'files' | 'contract' | 'now' | 'state' | 'part'>,
  task: PromptedTask,
  told: Told,
): AssembledPrompt | null {
  const { files, contract } = place;
  const state = place.state();
  const plan = planIn(place);
  if (contract.policy.plan === undefined) return null;
  // Files with conflict markers, if the work was moved before the agent began.
  const marked = withMarkers(place, task);
  const conflicts = marked.length === 0 ? [] : [section('Conflicts', [PART_TEXTS.conflicts(marked, task.id)])];
  return assemblePlanPrompt({
    ...told,
    iteration: state.iteration + 1,
    maxIterations: state.maxIterations,
    guardrailsPath: guardrailsPath(files.projectDir),
    completion: contract.policy.completion,
    idle: contract.policy.idle !== null,
    planPath: contract.taskPath,
    progressPath: task.progressPath,
    task,
    text: task.text,
    scope: task.scope,
    done: place.part?.done ?? plan.done.length,
    maxTasks: contract.policy.plan.maxTasks,
    attempts: plan.attempts,
    isLast: isLastAttempt(plan),
    lastProgress: task.progress === null ? null : lastProgress(task.progress),
    report: plan.report?.said === 'partial' ? plan.report.text : null,
    beside: [...extraSections(files, contract, place.now(), true), ...conflicts],
    validation: contract.validation.map(({ name }) => name),
    projectChecks: contract.projectChecks ?? [],
    noChange: task.noChange?.includes(planKey(task.id)) === true,
  });
}

/**
 * Returns the results of the checks at the commit from which a task begins: those of the last committed task, or of the
 * loop's start. Undefined if unknown, because another process has committed since.
 */
function baselineNow(
  { contract }: PlanPlace,
  before: OpenTask | null,
  tasks: PlanFile['tasks'],
  head: string,
): OpenTask['baseline'] {
  if (before === null) return contract.baseline;
  if (isUndone(before, tasks)) return before.commit === head ? before.baseline : undefined;
  return before.verified;
}

function isUndone({ id }: OpenTask, tasks: PlanFile['tasks']): boolean {
  const task = tasks.find((each) => planKey(each.id) === planKey(id));
  return task !== undefined && task.status !== 'done';
}

/** Returns files left by blocked tasks, which are committed only with those tasks. */
function leftUndone(
  directory: string,
  before: OpenTask | null,
  tasks: PlanFile['tasks'],
  changed: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  if (before === null || !isUndone(before, tasks)) return before?.left ?? {};
  return { ...before.left, [planKey(before.id)]: changed.filter((path) => isOfTask(directory, before, path)) };
}

export function errorsIn({ problems }: PlanFile): string | null {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return errors.length === 0 ? null : errors.map(({ line, message }) => `  line ${line}: ${message}`).join('\n');
}

/**
 * Moves a worktree to the tip of the plan's branch at the start of its session, so that it has everything that the plan marks
 * as done. Work of an earlier session moves along. If the agent has left the worktree's branch, nothing is moved.
 */
export async function catchUp(place: PartPlace): Promise<void> {
  const { files, contract, part } = place;
  const calm = { ...place, signal: new AbortController().signal };
  const stands = await readRepository(files.projectDir, gitOptions(calm));
  if (typeof stands === 'string' || stands.head === null || stands.branch === null) return;
  const main = readMain(place);
  const before = readOpenTask(files, contract);
  if (before === null || planKey(before.id) !== planKey(part.task)) {
    if (stands.head !== main.tip) await switchTree(calm, { main, work: stands.head, merged: main.tip }, stands.changed);
    copyPlan(place, main, '');
    return;
  }
  if (stands.branch !== before.branch) return;
  if (main.tip === before.commit) adoptPlan(place, before, main);
  else await moveTask(calm, before, main, stands.changed);
}
