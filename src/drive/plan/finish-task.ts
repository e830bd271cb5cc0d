import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { reasonText } from '../../engine/messages.ts';
import { planStop, withDone } from '../../engine/plan/attempt.ts';
import { type ProgressEntry, pausedEntry, progressEntry } from '../../engine/plan/progress-entry.ts';
import { nextPlanTask } from '../../engine/plan/task-order.ts';
import { proofLine, type TaskWork } from '../../engine/plan/task-proof.ts';
import { readRegularFile, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { blockTask, type PlanFileTask, readPlan, tickTask } from '../../task/plan/read-plan.ts';
import { oneLine } from '../../text/excerpt.ts';
import { type CommitIntent, replaceText, rollBack } from './commit-journal.ts';
import { commitTask } from './commit-task.ts';
import { type OpenTask, readOpenTask, writeOpenTask } from './open-task-file.ts';
import { type PlanPlace, planIn, progressOf } from './plan-place.ts';

export interface CheckedWork {
  readonly changes: readonly string[];
  readonly results: readonly CheckResult[];
  readonly evidence: TaskWork;
}

type FinishedTask = { readonly problem: CheckResult } | { readonly problem: null; readonly notes: readonly string[] };

/** Writes progress entry and tick of a passed task and commits both with the work. Rolls back if the commit fails. */
export async function finishTask(place: PlanPlace, task: OpenTask, work: CheckedWork): Promise<FinishedTask> {
  const { files, contract } = place;
  const planFile = join(files.projectDir, contract.taskPath);
  const before = readFileSync(planFile, 'utf8');
  const found = taskIn(before, task.id);
  if (found === null) return { problem: failed(`${task.id} is no longer in ${contract.taskPath}.`) };
  const after = tickTask(before, found);
  const entry = entryOf(place, task, work, after);
  const progressFile = join(files.projectDir, progressOf(place));
  const progressBytes = statSync(progressFile, { throwIfNoEntry: false })?.size ?? null;
  const intent: CommitIntent = {
    loopId: contract.loopId,
    task: task.id,
    parent: task.commit,
    subject: oneLine(`feat: ${task.id} - ${task.title}`),
    before,
    after,
    progressBytes,
    entry: progressBytes === null ? `${progressTitle(contract.taskPath)}${entry}` : entry,
  };
  writeRecord(files.commitIntent, intent);
  appendFileSync(progressFile, intent.entry);
  replaceText(planFile, after);
  const committed = await commitTask(place, task, [
    intent.subject,
    `Proof: ${proofLine(work.evidence, work.results)}.`,
  ]);
  if (committed.ok) return { problem: null, notes: committed.notes };
  await rollBack(place, intent);
  removeIfThere(files.commitIntent);
  return { problem: failed(committed.said) };
}

/** Marks a task as blocked and records the reason. Commits nothing: the user reviews it first. */
export function finishBlocked(place: PlanPlace, task: OpenTask, work: CheckedWork): void {
  const { files, contract, part } = place;
  const planFile = join(part?.mainDir ?? files.projectDir, contract.taskPath);
  const before = readFileSync(planFile, 'utf8');
  const found = taskIn(before, task.id);
  const entry = note(place, task, work, 'blocked', 'a person has to remove what blocks it');
  if (part === undefined) append(place, entry);
  else appendOnce(place, join(part.mainDir, progressOf(place)), `${task.entries ?? ''}${entry}`);
  if (found !== null) replaceText(planFile, blockTask(before, found));
}

export function finishPartial(place: PlanPlace, task: OpenTask, work: CheckedWork): void {
  append(place, note(place, task, work, 'partial', `${task.id} goes on`));
}

function append(place: PlanPlace, entry: string): void {
  const path = join(place.files.projectDir, progressOf(place));
  const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
  appendFileSync(path, isNew ? `${progressTitle(place.contract.taskPath)}${entry}` : entry);
  const task = readOpenTask(place.files, place.contract.loopId);
  if (task === null) return;
  const own = place.part === undefined ? {} : { entries: `${task.entries ?? ''}${entry}` };
  writeOpenTask(place.files, { ...task, ...own, progress: readFileSync(path, 'utf8') });
}

/** Appends to the progress file of the main project, unless a killed process has already done so. */
function appendOnce(place: PlanPlace, path: string, text: string): void {
  const there = readRegularFile(path);
  if (there?.includes(entryId(place)) === true) return;
  appendFileSync(path, there === null ? `${progressTitle(place.contract.taskPath)}${text}` : text);
}

function taskIn(text: string, id: string): PlanFileTask | null {
  return readPlan(text).tasks.find((task) => task.id === id) ?? null;
}

/** Returns the entry of a finished task, with a note if the loop then pauses for review. */
function entryOf(place: PlanPlace, task: OpenTask, work: CheckedWork, ticked: string): string {
  const { policy } = place.contract;
  const { tasks } = readPlan(ticked);
  const known = planIn(place);
  const plan = withDone({ ...known, done: [...(place.session ?? known.done)] }, task.id);
  const stop = policy.plan ? planStop(plan, tasks, { maxTasks: policy.plan.maxTasks, from: policy.plan.from }) : null;
  const { next: following } = nextPlanTask(tasks, policy.plan?.from);
  const next = following === null ? (stop?.as ?? 'nothing') : `${following.id}, ${following.title}`;
  const entry = note(place, task, work, 'completed', next);
  const pauses = stop?.as === 'paused-for-review' && stop.why === 'max-tasks';
  return pauses ? `${entry}${pausedEntry(plan.done.length, place.now(), next)}` : entry;
}

function note(
  place: PlanPlace,
  task: OpenTask,
  { changes, results, evidence }: CheckedWork,
  status: ProgressEntry['status'],
  next: string,
): string {
  const { iteration, loopId } = place.state();
  const reasons = results.filter(({ outcome }) => outcome !== 'ok').map(reasonText);
  const proof = status === 'completed' ? proofLine(evidence, results) : null;
  const { report } = planIn(place);
  const work = { task, status, iteration, changes, commands: results, reasons, report, next, proof };
  return progressEntry({ ...work, id: entryId(place), session: loopId, at: place.now() });
}

function entryId(place: PlanPlace): string {
  const { iteration, loopId } = place.state();
  return `ralph ${loopId} ${iteration}`;
}

/** Returns the first line of a progress file. */
export function progressTitle(planPath: string): string {
  return `# Progress of ${planPath.slice(planPath.lastIndexOf('/') + 1)}\n`;
}

function failed(detail: string): CheckResult {
  return { name: 'commit', outcome: 'failed', detail };
}
