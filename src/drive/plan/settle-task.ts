import { appendFileSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../core/events.ts';
import { nextPlanTask } from '../../core/next-plan-task.ts';
import { planStop, withDone } from '../../core/plan-attempt.ts';
import { type ProgressEntry, pausedEntry, progressEntry } from '../../core/progress-entry.ts';
import { reasonText } from '../../core/transitions/verified.ts';
import { changeByGit, type GitChanged } from '../../task/plan/change-by-git.ts';
import { blockTask, tickTask } from '../../task/plan/mark-task.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { readRepository } from '../../task/plan/repository.ts';
import { type OpenTask, readOpenTask, writeOpenTask } from './open-task-file.ts';
import { ownPaths, type PlanPlace, planIn, progressOf } from './plan-place.ts';
import { dropSettling, noteSettling, replaceText, type Settling, undoSettling } from './settling.ts';

export interface Settled {
  /** Files of the attempt, relative to the project, without plan and progress file. */
  readonly changes: readonly string[];
  readonly results: readonly CheckResult[];
}

/**
 * Writes what a task that passed leaves: its entry, its tick, and the one commit of both and of the work. Gives null, or
 * why the commit failed; then entry and tick are taken back. Throws what the disk says.
 */
export async function settleTask(place: PlanPlace, task: OpenTask, settled: Settled): Promise<CheckResult | null> {
  const { files, contract } = place;
  const planFile = join(files.projectDir, contract.taskPath);
  const before = readFileSync(planFile, 'utf8');
  const found = taskIn(before, task.id);
  if (found === null) return failed(`${task.id} is no longer in ${contract.taskPath}.`);
  const after = tickTask(before, found);
  const entry = entryOf(place, task, settled, after);
  const progressFile = join(files.projectDir, progressOf(place));
  const progressBytes = statSync(progressFile, { throwIfNoEntry: false })?.size ?? null;
  const settling: Settling = {
    loopId: contract.loopId,
    task: task.id,
    parent: task.commit,
    subject: subjectOf(task),
    before,
    after,
    progressBytes,
    entry: progressBytes === null ? `${title(contract.taskPath)}${entry}` : entry,
  };
  noteSettling(place, settling);
  appendFileSync(progressFile, settling.entry);
  replaceText(planFile, after);
  const committed = await commit(place, task, settling.subject);
  if (committed.ok) return null;
  await undoSettling(place, settling);
  dropSettling(place);
  return failed(committed.said);
}

/** Marks a task as blocked in the plan, and says why in the progress file. Nothing is committed: a person looks first. */
export function settleBlocked(place: PlanPlace, task: OpenTask, settled: Settled): void {
  const { files, contract } = place;
  const planFile = join(files.projectDir, contract.taskPath);
  const before = readFileSync(planFile, 'utf8');
  const found = taskIn(before, task.id);
  append(place, note(place, task, settled, 'blocked', 'a person has to mend what blocks it'));
  if (found !== null) replaceText(planFile, blockTask(before, found));
}

/** Notes what an attempt that goes on has done. */
export function settlePartial(place: PlanPlace, task: OpenTask, settled: Settled): void {
  append(place, note(place, task, settled, 'partial', `${task.id} goes on`));
}

function append(place: PlanPlace, entry: string): void {
  const path = join(place.files.projectDir, progressOf(place));
  const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
  appendFileSync(path, isNew ? `${title(place.contract.taskPath)}${entry}` : entry);
  const task = readOpenTask(place.files, place.contract.loopId);
  if (task !== null) writeOpenTask(place.files, { ...task, progress: readFileSync(path, 'utf8') });
}

function taskIn(text: string, id: string): PlanFileTask | null {
  return readPlan(text).tasks.find((task) => task.id === id) ?? null;
}

/** The entry of a task that is done; where the session ends with it for review, with the word of that. */
function entryOf(place: PlanPlace, task: OpenTask, settled: Settled, ticked: string): string {
  const { policy } = place.contract;
  const { tasks } = readPlan(ticked);
  const plan = withDone(planIn(place), task.id);
  const stop = policy.plan ? planStop(plan, tasks, policy.plan) : null;
  const { next: following } = nextPlanTask(tasks, policy.plan?.from);
  const next = following === null ? (stop?.as ?? 'nothing') : `${following.id}, ${following.title}`;
  const entry = note(place, task, settled, 'completed', next);
  const pauses = stop?.as === 'paused-for-review' && stop.why === 'max-tasks';
  return pauses ? `${entry}${pausedEntry(plan.done.length, place.now(), next)}` : entry;
}

function note(
  place: PlanPlace,
  task: OpenTask,
  { changes, results }: Settled,
  status: ProgressEntry['status'],
  next: string,
): string {
  const { iteration, loopId } = place.state();
  return progressEntry({
    id: `ralph ${loopId} ${iteration}`,
    task,
    session: loopId,
    at: place.now(),
    status,
    iteration,
    changes,
    commands: results,
    reasons: results.filter(({ outcome }) => outcome !== 'ok').map(reasonText),
    report: planIn(place).report,
    next,
  });
}

function title(planPath: string): string {
  return `# Progress of ${planPath.slice(planPath.lastIndexOf('/') + 1)}\n`;
}

/** Commits everything that changed since the task began, with what the commit's own hooks have to say. */
async function commit(place: PlanPlace, task: OpenTask, subject: string): Promise<GitChanged> {
  const { files, contract, env, signal } = place;
  const directory = files.projectDir;
  const stands = await readRepository(directory, { env, signal });
  if (typeof stands === 'string') return { ok: false, said: stands };
  // From an index as HEAD has it: git adds no path whose deletion is staged, and a merge that the agent began is none of ours.
  const reset = await changeByGit({ directory, words: ['reset', '--quiet'], env });
  if (!reset.ok) return reset;
  const unstaged = await readRepository(directory, { env, signal });
  if (typeof unstaged === 'string') return { ok: false, said: unstaged };
  const own = ownPaths(directory, contract.taskPath);
  const isOurs = (path: string): boolean => own.includes(path) || !task.dirty.includes(path);
  const paths = unstaged.changed.filter(isOurs);
  // Status names no file that git ignores, once it is not staged any more.
  const forced = stands.changed.filter(
    (path) => isOurs(path) && !paths.includes(path) && isFile(join(directory, path)),
  );
  for (const [words, listed] of [
    [['add', '--all'], paths],
    [['add', '--force'], forced],
  ] as const) {
    if (listed.length === 0) continue;
    const added = await changeByGit({
      directory,
      words: ['--literal-pathspecs', ...words, ...FROM_INPUT],
      input: listed.join('\0'),
      env,
    });
    if (!added.ok) return added;
  }
  const footers = contract.commitFooters ?? [];
  const input = [subject, ...(footers.length === 0 ? [] : ['', ...footers]), ''].join('\n');
  // A task that was done already is a commit all the same: one for each, so that the history tells the plan.
  return changeByGit({
    directory,
    words: ['commit', '--quiet', '--allow-empty', '--cleanup=whitespace', '-F', '-'],
    input,
    env,
  });
}

const FROM_INPUT = ['--pathspec-from-file=-', '--pathspec-file-nul'];

/** A link is one, too. */
function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** One line, whatever the plan has in its title. */
function subjectOf({ id, title: said }: OpenTask): string {
  return `feat: ${id} - ${said}`.replace(/\s+/g, ' ').trim();
}

function failed(detail: string): CheckResult {
  return { name: 'commit', outcome: 'failed', detail };
}
