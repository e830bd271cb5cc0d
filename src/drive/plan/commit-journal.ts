import { appendFileSync, existsSync, readFileSync, realpathSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { reasonText } from '../../engine/messages.ts';
import { planStop, withDone } from '../../engine/plan/attempt.ts';
import { BODY_LIMIT, commitSubject, PLAIN_FORM, planName } from '../../engine/plan/commit-subject.ts';
import { type ProgressEntry, pausedEntry, progressEntry } from '../../engine/plan/progress-entry.ts';
import { nextPlanTask } from '../../engine/plan/task-order.ts';
import { proofLine, type TaskWork } from '../../engine/policy/proof.ts';
import { modeOf, readRegularFile, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { filesSince, isInHistory, lastCommit, readRepository } from '../../task/git/read-repository.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { type PlanFileTask, readPlan, tickTask } from '../../task/plan/read-plan.ts';
import { oneLine } from '../../text/quote.ts';
import { type CommitIntent, dropIntent, type OpenTask, readIntent } from '../records/open-task-file.ts';
import { changing, git, gitOptions, ownPaths, type PlanPlace, planIn, progressOf } from './plan-place.ts';

/**
 * Recovers an interrupted commit. Returns the task's id if the commit was made, has the files that passed the checks (its
 * record stays) and everything that its hooks changed; otherwise rolls back. Throws RalphError `refused` if git refuses.
 */
export async function recoverCommit(place: PlanPlace): Promise<string | null> {
  const { files, contract } = place;
  const intent = readIntent(files, contract);
  if (intent !== null) {
    if (intent.made !== undefined && (await isInHistory(files.projectDir, intent.made, gitOptions(place))))
      return intent.task;
    const last = await lastCommit(files.projectDir, gitOptions(place));
    // A hook may have put the number of an issue before or behind the subject.
    if (last?.parent === intent.parent && last.subject.includes(intent.subject)) {
      if ((await isProved(place, intent)) && (await isTakenIn(place, intent))) return intent.task;
      await moveBranch(place, intent.parent);
    }
    await rollBack(place, intent);
    dropIntent(files, contract);
  }
  return null;
}

/** Returns whether HEAD has the files of the commit that passed the checks, if there is one. */
export async function isProved(place: PlanPlace, { proved = null }: CommitIntent): Promise<boolean> {
  return proved === null || (await othersSince(place, proved))?.length === 0;
}

/** Returns whether no file of the commit has changed since: hooks may format what is committed. */
async function isTakenIn(place: PlanPlace, { parent }: CommitIntent): Promise<boolean> {
  const committed = await othersSince(place, parent);
  const stands = await readRepository(place.files.projectDir, gitOptions(place));
  if (committed === null || typeof stands === 'string') return false;
  return !stands.changed.some((path) => committed.includes(path) && !stands.concealed.includes(path));
}

/** Returns the files in which HEAD differs from a commit, except the loop's own two; null if git does not answer. */
async function othersSince(place: PlanPlace, commit: string): Promise<string[] | null> {
  const { files, contract } = place;
  const own = ownPaths(files.projectDir, contract.taskPath);
  const differs = await filesSince(files.projectDir, commit, gitOptions(place));
  return differs?.filter((path) => !own.includes(path)) ?? null;
}

/** Moves the branch to a commit; index and files stay. Throws RalphError `refused` if git refuses. */
export async function moveBranch(place: PlanPlace, commit: string): Promise<void> {
  await git(place, ['reset', '--quiet', '--soft', commit]);
}

/** Writes entry and tick of the task. `rollBack` removes them. */
export function writeTexts(place: PlanPlace, { entry, after }: CommitIntent): void {
  const { files, contract } = place;
  appendFileSync(join(files.projectDir, progressOf(place)), entry);
  replaceText(join(files.projectDir, contract.taskPath), after);
}

/** Removes tick and entry unless they were changed meanwhile. */
export async function rollBack(place: PlanPlace, intent: CommitIntent): Promise<void> {
  const { files, contract } = place;
  const plan = join(files.projectDir, contract.taskPath);
  if (readRegularFile(plan) === intent.after) replaceText(plan, intent.before);
  const progress = join(files.projectDir, progressOf(place));
  cutEntry(progress, intent);
  // Unstages. git rejects unknown paths, which need no unstaging.
  for (const path of ownPaths(files.projectDir, contract.taskPath))
    await changeByGit({ ...changing(place), words: ['reset', '--quiet', '--', path] });
}

/** Cuts the entry, complete or partial, from the end of the progress file. */
function cutEntry(path: string, { progressBytes, entry }: CommitIntent): void {
  if (!existsSync(path)) return;
  const begin = progressBytes ?? 0;
  const rest = readFileSync(path).subarray(begin);
  const written = Buffer.from(entry);
  if (rest.length === 0 || !written.subarray(0, rest.length).equals(rest)) return;
  if (progressBytes === null) removeIfThere(path);
  else truncateSync(path, begin);
}

/** Replaces a text; follows links and keeps the mode. */
export function replaceText(path: string, text: string): void {
  const real = realpathSync(path);
  writeAtomically(real, text, modeOf(real));
}

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
  // The longest line that linters of commit messages accept.
  const line = new RegExp(`(.{1,${BODY_LIMIT}})(?: |$)`, 'g');
  const proof = `Proof: ${proofLine(work.evidence, results)}.`.replace(line, '$1\n').trimEnd();
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

export function progressTitle(planPath: string): string {
  return `# Progress of ${planPath.slice(planPath.lastIndexOf('/') + 1)}\n`;
}
