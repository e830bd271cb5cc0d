import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { readRegularFile, removeIfThere } from '../../state/files/regular-file.ts';
import { readRepository } from '../../task/git/read-repository.ts';
import { changeByGit, partsOf } from '../../task/git/run-git.ts';
import { holdPlan, type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/message.ts';
import type { OpenTask, TaskMove } from '../records/open-task-file.ts';
import { dropIntent, readIntent, readOpenTask, writeOpenTask } from '../records/open-task-file.ts';
import { type CheckedWork, progressTitle, recoverCommit, rollBack } from './commit-journal.ts';
import { stageTask } from './commit-task.ts';
import { examineWork } from './examine-work.ts';
import { type FinishedTask, finishTask, type Proved, proveWork } from './finish-task.ts';
import { PART_TEXTS } from './messages.ts';
import type { MainPlan, PartPlace, PlanChecks, PlanPlace } from './plan-place.ts';
import { changing, git, gitOptions, linkText, progressOf, publishCommit, readMain } from './plan-place.ts';

/** `misfit`: the work does not fit later commits on the branch. */
type IntegratedTask = Omit<FinishedTask, 'end'> & { readonly end: FinishedTask['end'] | 'misfit' };

/** Maximum number of moves of the plan's branch during an integration: only a person moves it then. */
const MOST_TRIES = 5;
const MARKERS = /^(?:<{7}|>{7}) /m;

/**
 * Commits the passed work of a task with entry and tick. Beside other tasks, in its turn: rebases the work, verifies it again
 * if the plan's branch has moved since the task began, commits it in the worktree, and moves the branch forward. A commit is
 * not aborted halfway. Throws RalphError `refused` if the main project prevents it; rejects with the abort reason.
 */
export async function integrateTask(
  place: PlanPlace,
  task: OpenTask,
  work: CheckedWork & Pick<Proved, 'commit'>,
  checks: PlanChecks,
): Promise<IntegratedTask> {
  const { part } = place;
  return part === undefined
    ? finishTask(unaborted(place), task, work, checks)
    : integrateBeside({ ...place, part }, task, work, checks);
}

function unaborted<P extends PlanPlace>(place: P): P {
  return { ...place, signal: new AbortController().signal };
}

async function integrateBeside(
  place: PartPlace,
  begun: OpenTask,
  passed: CheckedWork & Pick<Proved, 'commit'>,
  checks: PlanChecks,
): Promise<IntegratedTask> {
  const calm = unaborted(place);
  // The agent may have changed its copy of the plan: the main project's plan counts.
  const { taskPath } = place.contract;
  const plan = readFileSync(join(place.files.projectDir, taskPath), 'utf8');
  const notes = plan === begun.plan ? [] : [PART_TEXTS.planLeftOut(begun.id, taskPath)];
  let [task, work] = [begun, passed];
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const main = readMain(place);
    if (main.tip === task.commit) task = adoptPlan(calm, task, main);
    else {
      const { task: moved, conflicts } = await moveTask(calm, task, main, work.changes);
      task = moved;
      if (conflicts.length > 0) return misfit(passed, PART_TEXTS.conflicts(conflicts, task.id), notes);
      const { results, changes } = await examineWork(place, task);
      const found = { ...passed, changes };
      const proved = results.length === 0 ? await proveWork(calm, task, found, checks) : null;
      const all = [...results, ...(proved?.results ?? (await checks.inProject()))];
      work = { ...found, results: all, commit: proved?.commit ?? null };
      if (all.some(({ outcome }) => outcome !== 'ok')) return misfit(work, PART_TEXTS.notTogether(task.id), notes);
    }
    const finished = await finishTask(calm, task, work, checks);
    const told = { ...finished, notes: [...notes, ...finished.notes] };
    if (finished.end !== 'done' || (await publishOwn(calm))) return told;
  }
  throw new RalphError('refused', PART_TEXTS.keepsMoving(place.part.branch));
}

function misfit({ results, ...work }: CheckedWork, detail: string, notes: readonly string[]): IntegratedTask {
  const reason: CheckResult = { name: 'integration', outcome: 'failed', detail };
  return { end: 'misfit', work: { ...work, results: [reason, ...results] }, notes };
}

/** Returns the files of a former conflict that still have its markers. */
export function withMarkers(
  { files }: Pick<PlanPlace, 'files'>,
  { conflicts = [] }: Pick<OpenTask, 'conflicts'>,
): readonly string[] {
  return conflicts.filter((path) => MARKERS.test(readRegularFile(join(files.projectDir, path)) ?? ''));
}

/** Recovers the work of a killed process. Returns the task's id if its commit is on the plan's branch. Throws `evidence-lost`. */
export async function recoverTask(place: PlanPlace): Promise<string | null> {
  const { part } = place;
  if (part === undefined) return recoverCommit(place);
  const own = { ...place, part };
  const open = readOpenTask(place.files, place.contract);
  if (open?.move !== undefined) {
    // A killed process began the move.
    const { move, ...task } = open;
    await apply(own, task, move);
  }
  const committed = await recoverCommit(place);
  return committed !== null && (await publishOwn(own)) ? committed : null;
}

/** Publishes the new commit of the worktree. Takes it back and returns false if the branch has moved. */
async function publishOwn(place: PartPlace): Promise<boolean> {
  const { files } = place;
  const [stands, intent] = [
    await readRepository(files.projectDir, gitOptions(place)),
    readIntent(files, place.contract),
  ];
  if (typeof stands === 'string' || stands.head === null || intent === null)
    throw new RalphError('refused', PART_TEXTS.notPublished(place.part.task, place.part.branch, String(stands)));
  if (publishCommit(place, stands.head, intent)) return true;
  await git(place, ['reset', '--quiet', intent.parent, '--']);
  await rollBack(place, intent);
  dropIntent(files, place.contract);
  return false;
}

const PLAN_BYTES = 32 * 1024 * 1024;

/**
 * Moves the uncommitted work of a task to the tip of the plan's branch. The worktree then has both, with conflict markers
 * where they conflict, and the main project's plan and progress file. `changes` are the files of the work. Never aborted.
 * Throws RalphError `refused`.
 */
export async function moveTask(place: PartPlace, task: OpenTask, main: MainPlan, changes: readonly string[]) {
  const staged = await stageTask(place, task, changes, false);
  if (!staged.ok) throw new RalphError('refused', staged.said);
  const work = await git(place, ['write-tree']);
  const commit = await git(place, ['commit-tree', work, '-p', task.commit, '-m', `Work on ${task.id}`]);
  const { merged, conflicts } = await mergeTrees(place, main.tip, commit);
  const move: TaskMove = { main, work, merged, conflicts };
  writeOpenTask(place.files, { ...task, move });
  return apply(place, task, move);
}

/** Moves a task. Returns it, and the files with conflict markers, relative to the repository. */
async function apply(place: PartPlace, task: OpenTask, move: TaskMove) {
  const { main, conflicts } = move;
  await switchTree(place, move, task.dirty);
  const openedAt = task.openedAt ?? task.commit;
  return { task: adoptPlan(place, { ...task, commit: main.tip, openedAt, conflicts }, main), conflicts };
}

/** Moves branch and files of the worktree from one tree to another. `dirty` files stay as they are. */
export async function switchTree(
  place: PartPlace,
  { main, work, merged }: Pick<TaskMove, 'main' | 'work' | 'merged'>,
  dirty: readonly string[],
): Promise<void> {
  const { projectDir } = place.files;
  const kept = dirty.flatMap((path) => {
    const isPlain = lstatSync(join(projectDir, path), { throwIfNoEntry: false })?.isFile() === true;
    return isPlain ? [{ path, content: readFileSync(join(projectDir, path)) }] : [];
  });
  await git(place, ['reset', '--quiet', '--soft', main.tip]);
  // With the work in the index, git removes and replaces exactly the files that differ.
  await git(place, ['read-tree', work]);
  await git(place, ['read-tree', '--reset', '-u', merged]);
  // This has removed the work outside a sparse checkout.
  const differing = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', main.tip, merged];
  const files = partsOf(await git(place, differing)).map((path) => `:(top,literal)${path}`);
  const back = ['checkout', '--ignore-skip-worktree-bits', '--pathspec-from-file=-', '--pathspec-file-nul'];
  if (files.length > 0) await git(place, back, files.join('\0'));
  await git(place, ['reset', '--quiet']);
  for (const { path, content } of kept) {
    const own = join(projectDir, path);
    if (!existsSync(own) || !readFileSync(own).equals(content)) writeFileSync(own, content);
  }
}

/** Writes the main project's plan and progress file into the worktree, with the entries of this task at the end. */
export function adoptPlan(place: PartPlace, task: OpenTask, main: MainPlan): OpenTask {
  const progress = copyPlan(place, main, task.entries ?? '');
  const planLink = linkText(join(place.files.projectDir, task.planPath));
  const adopted = { ...task, plan: main.plan, planLink, progress };
  writeOpenTask(place.files, adopted);
  return adopted;
}

/** Returns the text of the progress file; null if there is none. */
export function copyPlan(place: PartPlace, main: MainPlan, entries: string): string | null {
  const { files, contract } = place;
  const [plan, own] = [join(files.projectDir, contract.taskPath), join(files.projectDir, progressOf(place))];
  if (readRegularFile(plan, PLAN_BYTES) !== main.plan) writeFileSync(plan, main.plan);
  const progress =
    main.progress === null && entries === '' ? null : `${main.progress ?? progressTitle(contract.taskPath)}${entries}`;
  if (progress === null) removeIfThere(own);
  else if (readRegularFile(own, PLAN_BYTES) !== progress) writeFileSync(own, progress);
  return progress;
}

/** Returns the merged tree; conflicting files have both versions between markers. */
async function mergeTrees(
  place: PartPlace,
  tip: string,
  commit: string,
): Promise<{ readonly merged: string; readonly conflicts: readonly string[] }> {
  const words = ['merge-tree', '--write-tree', '--no-messages', '--name-only', '-z', tip, commit];
  const answer = await changeByGit({ ...changing(place), words });
  const [merged = '', ...conflicts] = answer.text.split('\0').filter((each) => each !== '');
  if (!/^[0-9a-f]{40,64}$/.test(merged) || (!answer.ok && answer.code !== 1))
    throw new RalphError('refused', PART_TEXTS.notMerged(answer.ok ? '' : answer.said));
  return { merged, conflicts };
}

/** Returns whether the plan says now that the task is something else than its agent was told, which then takes the new text. */
export function takesOtherText({ part, ...place }: PlanPlace, task: OpenTask): boolean {
  const main = part === undefined ? null : readMain({ ...place, part });
  const plan = main?.plan ?? readRegularFile(join(place.files.projectDir, task.planPath)) ?? '';
  const held = tasksByKey(readPlan(holdPlan(task.plan, plan).text).tasks).get(planKey(task.id));
  // Each is read by itself: without its surroundings, an indented item can mean something else.
  const [[told], [said]] = [readPlan(task.text).tasks, readPlan(held?.text ?? '').tasks];
  if (told === undefined || said === undefined || textOf(told) === textOf(said)) return false;
  if (part !== undefined && main !== null) adoptPlan({ ...place, part }, task, main);
  return true;
}

/** Returns what an agent has to do, without the marks of Markdown. */
function textOf({ title, acceptance, prose }: PlanFileTask): string {
  return [title, ...acceptance, prose].join(' ').replace(/[\s*_`~\\]+/g, ' ');
}
