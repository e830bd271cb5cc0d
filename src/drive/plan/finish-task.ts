import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { blockTask } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/message.ts';
import { dropIntent, type OpenTask, readOpenTask, writeIntent, writeOpenTask } from '../records/open-task-file.ts';
import type { CheckedWork, FoundWork } from './commit-journal.ts';
import {
  entryId,
  entryOf,
  intentOf,
  progressTitle,
  recoverCommit,
  replaceText,
  rollBack,
  taskIn,
  writeTexts,
} from './commit-journal.ts';
import { commitTask, stageTask, type TaskCommit } from './commit-task.ts';
import { fail } from './examine-work.ts';
import { git, type PlanChecks, type PlanPlace, progressOf } from './plan-place.ts';

/** How the commit of passed work ended, with the results of its checks and what prevented the commit. */
export interface FinishedTask {
  /** `rejected`: by the commit-msg hook, which the agent cannot change. */
  readonly end: 'done' | 'failed' | 'rejected';
  readonly work: CheckedWork;
  readonly notes: readonly string[];
}

/**
 * Writes progress entry and tick of a passed task and commits both with the work. If the commit has other files than those
 * that passed the checks, they run on it as well. Rolls back if it fails or throws; rejects if the checks do.
 */
export async function finishTask(
  place: PlanPlace,
  task: OpenTask,
  work: CheckedWork & Pick<Proved, 'commit'>,
  checks: PlanChecks,
): Promise<FinishedTask> {
  const { files, contract } = place;
  const unfinished = (end: 'failed' | 'rejected', problems: readonly CheckResult[]): FinishedTask => {
    return { end, work: { ...work, results: [...work.results, ...problems] }, notes: [] };
  };
  const intent = intentOf(place, task, work);
  if (intent === null)
    return unfinished('failed', [fail('commit', `${task.id} is no longer in ${contract.taskPath}.`)]);
  const begun = { ...intent, proved: work.commit };
  writeIntent(files, begun);
  writeTexts(place, begun);
  let committed: TaskCommit;
  try {
    committed = await commitTask(place, task, { intent: begun, work }, checks);
  } catch (error) {
    await recoverCommit(place);
    throw error;
  }
  if (committed.ok) {
    if (committed.commit !== null) writeIntent(files, { ...begun, made: committed.commit });
    return { end: 'done', work, notes: committed.notes };
  }
  await rollBack(place, begun);
  dropIntent(files, contract);
  const problems = typeof committed.why === 'string' ? [fail('commit', committed.why)] : committed.why;
  return unfinished('isMessage' in committed ? 'rejected' : 'failed', problems);
}

/** Marks a task as blocked and records the reason. Commits nothing: the user reviews it first. */
export function finishBlocked(place: PlanPlace, task: OpenTask, work: CheckedWork): void {
  const { files, contract, part } = place;
  const planFile = join(part?.mainDir ?? files.projectDir, contract.taskPath);
  const before = readFileSync(planFile, 'utf8');
  const found = taskIn(before, task.id);
  const entry = entryOf(place, task, work, 'blocked', 'a person has to remove what blocks it');
  if (part === undefined) append(place, entry);
  else appendOnce(place, join(part.mainDir, progressOf(place)), `${task.entries ?? ''}${entry}`);
  if (found !== null) replaceText(planFile, blockTask(before, found));
}

export function finishPartial(place: PlanPlace, task: OpenTask, work: CheckedWork): void {
  append(place, entryOf(place, task, work, 'partial', `${task.id} goes on`));
}

function append(place: PlanPlace, entry: string): void {
  const path = join(place.files.projectDir, progressOf(place));
  const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
  appendFileSync(path, isNew ? `${progressTitle(place.contract.taskPath)}${entry}` : entry);
  const task = readOpenTask(place.files, place.contract);
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

export interface Proved {
  readonly results: readonly CheckResult[];
  /** Commit on which the checks ran, on no branch; null if they ran in the project, or there are none. */
  readonly commit: string | null;
}

/**
 * Runs the checks on exactly what the commit of the task will contain, unless they run in the project. Project, index and
 * branch are then as before, apart from staged work. Throws RalphError `refused` if git refuses.
 */
export async function proveWork(
  place: PlanPlace,
  task: OpenTask,
  work: FoundWork,
  checks: PlanChecks,
): Promise<Proved> {
  const { contract } = place;
  const isOnCommit = contract.verifyIn !== undefined && contract.validation.length > 0;
  const commit = isOnCommit ? await candidateOf(place, task, work) : null;
  return { results: commit === null ? await checks.inProject() : await checks.on(commit), commit };
}

/** Creates the commit that the task would make, without a branch and hooks; null if the task is gone from the plan. */
async function candidateOf(place: PlanPlace, task: OpenTask, work: FoundWork): Promise<string | null> {
  const { files, contract } = place;
  const intent = intentOf(place, task, work);
  if (intent === null) return null;
  // If a process is killed now, the next one removes the texts that it has written.
  writeIntent(files, intent);
  try {
    writeTexts(place, intent);
    const staged = await stageTask(place, task, work.changes);
    if (!staged.ok) throw new RalphError('refused', staged.said);
    const tree = await git(place, ['write-tree']);
    return await git(place, ['commit-tree', tree, '-p', task.commit], intent.message);
  } finally {
    await rollBack(place, intent);
    dropIntent(files, contract);
  }
}
