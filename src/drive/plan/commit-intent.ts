import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { reasonText } from '../../engine/messages.ts';
import { planStop, withDone } from '../../engine/plan/attempt.ts';
import { BODY_LIMIT, commitSubject, PLAIN_FORM, planName } from '../../engine/plan/commit-subject.ts';
import { type ProgressEntry, pausedEntry, progressEntry } from '../../engine/plan/progress-entry.ts';
import { nextPlanTask } from '../../engine/plan/task-order.ts';
import { proofLine, type TaskWork } from '../../engine/plan/task-proof.ts';
import { type PlanFileTask, readPlan, tickTask } from '../../task/plan/read-plan.ts';
import { oneLine } from '../../text/quote.ts';
import type { CommitIntent, OpenTask } from '../records/open-task-file.ts';
import { type PlanPlace, planIn, progressOf } from './plan-place.ts';

/** Work on a task as it was found, before its checks. */
export interface FoundWork {
  /** Changed files, relative to the project, without plan and progress file. */
  readonly changes: readonly string[];
  readonly evidence: TaskWork;
}

export interface CheckedWork extends FoundWork {
  readonly results: readonly CheckResult[];
}

/** Returns the record of the commit of a task whose checks pass; null if the plan no longer has the task. */
export function intentOf(place: PlanPlace, task: OpenTask, work: FoundWork): CommitIntent | null {
  const { files, contract } = place;
  const before = readFileSync(join(files.projectDir, contract.taskPath), 'utf8');
  const found = taskIn(before, task.id);
  if (found === null) return null;
  const after = tickTask(before, found);
  const results: CheckResult[] = contract.validation.map(({ name }) => ({ name, outcome: 'ok', detail: '' }));
  const entry = completedEntry(place, task, { ...work, results }, after);
  const progressBytes = statSync(join(files.projectDir, progressOf(place)), { throwIfNoEntry: false })?.size ?? null;
  const form = contract.commitMessage ?? PLAIN_FORM;
  const subject = oneLine(commitSubject(form, task, planName(contract.taskPath)));
  const proof = wrapped(`Proof: ${proofLine(work.evidence, results)}.`);
  const { commitFooters = [] } = contract;
  const footers = commitFooters.length === 0 ? [] : [commitFooters.join('\n')];
  return {
    loopId: contract.loopId,
    task: task.id,
    parent: task.commit,
    subject,
    message: `${[subject, proof, ...footers].join('\n\n')}\n`,
    before,
    after,
    progressBytes,
    entry: progressBytes === null ? `${progressTitle(contract.taskPath)}${entry}` : entry,
  };
}

/** Breaks a text between words into lines that linters of commit messages accept. */
function wrapped(text: string): string {
  return text.replace(new RegExp(`(.{1,${BODY_LIMIT}})(?: |$)`, 'g'), '$1\n').trimEnd();
}

export function taskIn(text: string, id: string): PlanFileTask | null {
  return readPlan(text).tasks.find((task) => task.id === id) ?? null;
}

/** Returns the entry of a finished task, with a note if the loop then pauses for review. */
function completedEntry(place: PlanPlace, task: OpenTask, work: CheckedWork, ticked: string): string {
  const { policy } = place.contract;
  const { tasks } = readPlan(ticked);
  const known = planIn(place);
  const plan = withDone({ ...known, done: [...(place.session ?? known.done)] }, task.id);
  const stop = policy.plan ? planStop(plan, tasks, { maxTasks: policy.plan.maxTasks, from: policy.plan.from }) : null;
  const { next: following } = nextPlanTask(tasks, policy.plan?.from);
  const next = following === null ? (stop?.as ?? 'nothing') : `${following.id}, ${following.title}`;
  const entry = entryOf(place, task, work, 'completed', next);
  const pauses = stop?.as === 'paused-for-review' && stop.why === 'max-tasks';
  return pauses ? `${entry}${pausedEntry(plan.done.length, place.now(), next)}` : entry;
}

/** Returns an entry of the progress file. */
export function entryOf(
  place: PlanPlace,
  task: OpenTask,
  { changes, results, evidence }: CheckedWork,
  status: ProgressEntry['status'],
  next: string,
): string {
  const { iteration, loopId } = place.state();
  const { report } = planIn(place);
  return progressEntry({
    id: entryId(place),
    session: loopId,
    at: place.now(),
    task,
    status,
    iteration,
    changes,
    commands: results,
    reasons: results.filter(({ outcome }) => outcome !== 'ok').map(reasonText),
    proof: status === 'completed' ? proofLine(evidence, results) : null,
    report,
    next,
  });
}

export function entryId(place: PlanPlace): string {
  const { iteration, loopId } = place.state();
  return `ralph ${loopId} ${iteration}`;
}

/** Returns the first line of a progress file. */
export function progressTitle(planPath: string): string {
  return `# Progress of ${planPath.slice(planPath.lastIndexOf('/') + 1)}\n`;
}
