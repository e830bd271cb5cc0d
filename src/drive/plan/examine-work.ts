import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { isForUser } from '../../engine/plan/attempt.ts';
import { planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { isSecretBearing } from '../../guard/files/path-pattern.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { type LinkTarget, linkTarget, nestedRepositories } from '../../task/git/nested-repositories.ts';
import type { Commit, Repository } from '../../task/git/read-repository.ts';
import { commitsSince, hiddenFiles, readRepository } from '../../task/git/read-repository.ts';
import { changeByGit, sharedGitDir } from '../../task/git/run-git.ts';
import { isInScope } from '../../task/git/task-scope.ts';
import { type HeldPlan, holdPlan, type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { isSameMark, markFile } from '../../task/progress/marks.ts';
import { workTimes } from '../../task/undo/work-times.ts';
import { startRecordOf } from '../prompt/project-change.ts';
import { type OpenTask, writeOpenTask } from '../records/open-task-file.ts';
import { replaceText } from './commit-journal.ts';
import { PART_TEXTS, PLAN_TEXTS } from './messages.ts';
import { changing, gitOptions, linkText, ownPaths, type PlanPlace, planIn } from './plan-place.ts';

interface LookedAt {
  readonly results: readonly CheckResult[];
  /** Changed files, relative to the project, without plan and progress file. */
  readonly changes: readonly string[];
  /** Those inside the scope, without links that lead out of the repository: their targets are not in the commit. */
  readonly within: readonly string[];
  readonly notes: readonly string[];
  /** The task, beginning after any commits of the user. */
  readonly task: OpenTask;
}

/**
 * Examines everything except the validation commands: restores plan and progress file, folds the agent's own commits, keeps
 * those of the user before them, and checks every changed file against the scope. Writes nothing while another branch is
 * checked out. Rejects with the abort reason; throws disk errors.
 */
export async function examineWork(place: PlanPlace, opened: OpenTask): Promise<LookedAt> {
  const directory = place.files.projectDir;
  const options = gitOptions(place);
  const known = opened.hidden ?? null;
  const [before, hides] = await Promise.all([
    readRepository(directory, options),
    known === null ? [] : hiddenFiles(directory, options),
  ]);
  const none = { task: opened, changes: [], within: [], notes: [] };
  if (typeof before === 'string') return { ...none, results: [fail('repository', before)] };
  if (before.branch !== opened.branch)
    return { ...none, results: [fail('branch', PLAN_TEXTS.otherBranch(before.branch, opened.branch))] };
  const held = heldPlan(place, opened);
  const base = await foldCommits(place, opened, before);
  const notes = [...held.notes, ...base.notes];
  if (base.failure !== undefined) return { ...none, task: base.task, notes, results: [...held.results, base.failure] };
  const { changes, outside } = await changesOfTask(place, base.task, base.stands);
  const task = outside.length === 0 ? base.task : { ...base.task, strayed: outside };
  if (task !== base.task) writeOpenTask(place.files, task);
  const secrets = place.contract.guardrails.lifted?.includes('secrets')
    ? []
    : changes.filter((path) => isSecretBearing(path) && !task.scope.includes(path));
  const within = changes.filter((path) => !outside.includes(path));
  const { strange, unsaved, moved } = await nestedRepositories(directory, within, task.commit, options);
  const linksTo = (where: LinkTarget): string[] =>
    within.filter((path) => {
      const target = linkText(join(directory, path));
      return target !== null && linkTarget(directory, path, target) === where;
    });
  const [absolute, leading] = [linksTo('path'), linksTo('outside')];
  if (leading.length > 0) notes.push(PLAN_TEXTS.leadingOut(leading));
  const hidden = (hides ?? []).filter((path) => known?.includes(path) === false);
  // A name that is not UTF-8 comes from git with replacement characters, by which git would not find the file to add it.
  const unnamed = within.filter((path) => path.includes('\ufffd') && !existsSync(join(directory, path)));
  const outsideText = isForUser(planIn(place)) ? PLAN_TEXTS.outOfScopeForUser : PLAN_TEXTS.outOfScope;
  const results = [
    ...held.results,
    ...(outside.length === 0 ? [] : [fail('scope', outsideText(outside, task.id))]),
    ...(strange.length === 0 ? [] : [fail('repositories', PLAN_TEXTS.nested(strange))]),
    ...(unsaved.length === 0 ? [] : [fail('submodules', PLAN_TEXTS.unsaved(unsaved))]),
    ...(moved.length === 0 || place.part === undefined ? [] : [fail('submodules', PART_TEXTS.moved(moved, task.id))]),
    ...(absolute.length === 0 ? [] : [fail('links', PLAN_TEXTS.absoluteLinks(absolute))]),
    ...(hidden.length === 0 ? [] : [fail('hidden', PLAN_TEXTS.hidden(hidden))]),
    ...(hides === null ? [fail('hidden', PLAN_TEXTS.hiddenUnknown)] : []),
    ...(unnamed.length === 0 ? [] : [fail('names', PLAN_TEXTS.unnamed(unnamed))]),
    ...(secrets.length === 0 ? [] : [fail('secrets', PLAN_TEXTS.secrets(secrets))]),
  ];
  return { task, results, changes, within: within.filter((path) => !leading.includes(path)), notes };
}

/** A task after the commits since its beginning are folded, or what prevented that. */
type Base = Pick<LookedAt, 'task' | 'notes'> &
  ({ readonly stands: Repository; readonly failure?: never } | { readonly failure: CheckResult });

/** If the branch has moved, lets the task begin after the user's commits, and folds the agent's after them. */
async function foldCommits(place: PlanPlace, opened: OpenTask, before: Repository): Promise<Base> {
  if (before.head === opened.commit) return { task: opened, notes: [], stands: before };
  const directory = place.files.projectDir;
  const commits = await commitsSince(directory, opened.commit, gitOptions(place));
  const users = usersCommits(place, before, commits);
  const last = users.at(-1);
  const notes: string[] = [];
  let task = opened;
  if (last !== undefined) {
    notes.push(PLAN_TEXTS.keptCommits(textsOf(users), task.id));
    // The checks before the user's commits say nothing about what comes after.
    const { baseline: _, ...rest } = task;
    task = { ...rest, commit: last.id, openedAt: task.openedAt ?? task.commit };
    writeOpenTask(place.files, task);
  }
  const folded = await changeByGit({ ...changing(place), words: ['reset', '--soft', task.commit] });
  if (!folded.ok) return { task, notes, failure: fail('commits', PLAN_TEXTS.notFolded(folded.said)) };
  const own = commits.slice(users.length);
  if (commits.length === 0) notes.push(PLAN_TEXTS.movedBack(task.id));
  else if (own.length > 0) notes.push(PLAN_TEXTS.folded(textsOf(own), task.id));
  const stands = await readRepository(directory, gitOptions(place));
  return typeof stands === 'string' ? { task, notes, failure: fail('repository', stands) } : { task, notes, stands };
}

/** Returns the task's changes, without the checks' and the user's outside the scope; and those of them outside the scope. */
async function changesOfTask(place: PlanPlace, task: OpenTask, stands: Repository) {
  const directory = place.files.projectDir;
  const own = ownPaths(directory, task.planPath);
  const byChecks = reportsOf(place);
  const isInTask = (path: string): boolean => isInScope(path, task.scope);
  const found = (await changedSince(place, stands)).filter(
    (path) => !own.includes(path) && (isInTask(path) || !byChecks.includes(path)) && isOfTask(directory, task, path),
  );
  const strays = found.filter((path) => !isInTask(path));
  const isUsers = strays.length === 0 ? null : byNoCall(place);
  const outside = strays.filter((path) => isUsers?.(join(directory, path)) !== true);
  return { changes: found.filter((path) => isInTask(path) || outside.includes(path)), outside };
}

const textsOf = (commits: readonly Commit[]): string[] => commits.map(({ text }) => text);

/**
 * Returns the first commits by which the branch moved that no call of the agent can have made: git stored them, and moved the
 * branch last, while no call ran. The date in a commit proves nothing.
 */
function usersCommits(place: PlanPlace, { gitDir, branch }: Repository, commits: readonly Commit[]): readonly Commit[] {
  if (commits.length === 0) return [];
  const shared = sharedGitDir(gitDir);
  const isUsers = byNoCall(place);
  if (!isUsers(join(shared, 'refs', 'heads', branch ?? ''))) return [];
  const first = commits.findIndex(({ id }) => !isUsers(join(shared, 'objects', id.slice(0, 2), id.slice(2))));
  return first === -1 ? commits : commits.slice(0, first);
}

/** Returns a test for files last written while no call of the agent ran; for none if the agent reports no calls. */
function byNoCall({ files, contract, part }: PlanPlace): (path: string) => boolean {
  const { isLoops, lastWork } = workTimes(files, contract.loopId, contract.agent === undefined);
  // A journal without calls may have lost them. Beside other tasks, the loop itself writes the files of its worktree.
  if (lastWork === null || part !== undefined) return () => false;
  return (path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isDirectory() === false && !isLoops(stat.mtimeMs) && !isLoops(stat.ctimeMs);
  };
}

/** Returns the reports that checks write: no change by the agent. No proof of a commit rests on them. */
export function reportsOf({ files, contract, part }: PlanPlace): readonly string[] {
  return contract.verifyIn === undefined ? [] : ((part ?? startRecordOf(files, contract))?.written ?? []);
}

/** Leaves out files that differ only in the index: staged or committed, then reverted. */
async function changedSince(place: PlanPlace, stands: Repository): Promise<readonly string[]> {
  if (stands.halfStaged.length === 0) return stands.changed;
  const words = ['--literal-pathspecs', 'reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const unstaged = await changeByGit({ ...changing(place), words, input: stands.halfStaged.join('\0') });
  const after = unstaged.ok ? await readRepository(place.files.projectDir, gitOptions(place)) : stands;
  return typeof after === 'string' ? stands.changed : after.changed;
}

export const fail = (name: string, detail: string): CheckResult => ({ name, outcome: 'failed', detail });

/**
 * Restores plan and progress file as the engine left them: puts back tasks and titles that were removed before they were done,
 * unticks boxes ticked since and restores the progress file. Each is a failure, except the tick of the task itself. Other changes of
 * the plan are the user's. Throws disk errors.
 */
function heldPlan(place: PlanPlace, task: OpenTask): Pick<LookedAt, 'results' | 'notes'> {
  const isPlanGone = putBackPlan(place, task);
  const { gone, renamed, ticked } = putBackTasks(place, task);
  const others = ticked.filter((id) => planKey(id) !== planKey(task.id));
  const results = [
    ...(isPlanGone ? [fail('plan', PLAN_TEXTS.gonePlan(task.planPath))] : []),
    ...(gone.length === 0 ? [] : [fail('plan', PLAN_TEXTS.goneTasks(gone, task.planPath))]),
    ...(renamed.length === 0 ? [] : [fail('plan', PLAN_TEXTS.renamedTasks(renamed, task.planPath))]),
    ...(others.length === 0 ? [] : [fail('plan', PLAN_TEXTS.ticked(others, task.planPath))]),
    ...(putBackProgress(place, task) ? [fail('progress', PLAN_TEXTS.progressChanged(task.progressPath))] : []),
  ];
  const now = readFileSync(join(place.files.projectDir, task.planPath), 'utf8');
  const changed = changedTasks(task.plan, now, task.id);
  const notes = [
    ...(others.length === ticked.length ? [] : [PLAN_TEXTS.ownTick(task.id)]),
    ...(scopeIn(now, task.id) !== scopeIn(task.plan, task.id) ? [PLAN_TEXTS.scopeChanged(task.id, task.planPath)] : []),
    ...(changed.length === 0 ? [] : [PLAN_TEXTS.tasksChanged(changed, task.planPath)]),
  ];
  return { results, notes };
}

/** Restores a plan that was replaced, and a changed link, because the next tick would overwrite its target. */
function putBackPlan({ files }: PlanPlace, { planPath, plan, planLink = null }: OpenTask): boolean {
  const path = join(files.projectDir, planPath);
  const isReadable = (): boolean => readRegularFile(path) !== null;
  if (isReadable() && linkText(path) === planLink) return false;
  makeRoom(path);
  if (planLink !== null) symlinkSync(planLink, path);
  if (isReadable()) return true;
  makeRoom(path);
  writeFileSync(path, plan);
  return true;
}

function makeRoom(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
}

/** Brings the tasks and boxes of the plan back to what they were when the task was opened. */
function putBackTasks({ files }: PlanPlace, task: OpenTask): HeldPlan {
  const path = join(files.projectDir, task.planPath);
  const found = readFileSync(path, 'utf8');
  const held = holdPlan(task.plan, found);
  if (held.text !== found) replaceText(path, held.text);
  return held;
}

/** Restores the progress file as a plain file; never writes through a link. */
function putBackProgress({ files }: PlanPlace, { progressPath, progress }: OpenTask): boolean {
  const path = join(files.projectDir, progressPath);
  const isPlain = lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  if (isPlain && readRegularFile(path) === progress) return false;
  makeRoom(path);
  if (progress !== null) writeFileSync(path, progress);
  return true;
}

function scopeIn(plan: string, id: string): string {
  return JSON.stringify(tasksByKey(readPlan(plan).tasks).get(planKey(id))?.scope ?? null);
}

/**
 * Returns which tasks of a plan changed and how, one text each, except for the scope of the `current` one; otherwise a plan
 * could complete without being executed.
 */
export function changedTasks(before: string, now: string, current = ''): string[] {
  if (now === before) return [];
  const [were, are] = [readPlan(before).tasks, readPlan(now).tasks];
  const [known, standing] = [tasksByKey(were), tasksByKey(are)];
  const changed = were.flatMap((was) => {
    const how = changeOf(was, standing.get(planKey(was.id)), planKey(was.id) === planKey(current));
    return how === null ? [] : [`${was.id} (${how})`];
  });
  return [...changed, ...are.flatMap(({ id }) => (known.has(planKey(id)) ? [] : [`${id} (new)`]))];
}

function changeOf(was: PlanFileTask, now: PlanFileTask | undefined, isCurrent: boolean): string | null {
  if (was.status === 'done') return now?.status === 'open' ? 'open again' : null;
  if (was.status !== 'open') return null;
  if (now === undefined) return null;
  if (now.status !== 'open') return now.status;
  if (now.noChange === true && was.noChange !== true) return 'no-change';
  if (!isCurrent && isOther(now.scope, was.scope)) return 'another scope';
  return isOther(now.acceptance, was.acceptance) ? 'another acceptance' : null;
}

const isOther = (one: readonly string[], two: readonly string[]): boolean =>
  JSON.stringify(one) !== JSON.stringify(two);

/** Returns marks of the contents of these files. */
export function marksOf(projectDir: string, paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [path, markOf(projectDir, path)]));
}

/** Returns whether a changed file belongs to the task: it was clean when the task began, or has changed since. */
export function isOfTask(projectDir: string, { dirty, dirtyMarks = {} }: OpenTask, path: string): boolean {
  if (!dirty.includes(path)) return true;
  const before = dirtyMarks[path];
  return before !== undefined && !isSameMark(before, markOf(projectDir, path));
}

function markOf(projectDir: string, path: string): string {
  const marked = markFile(join(projectDir, path), { files: 1, bytes: Number.POSITIVE_INFINITY });
  return marked.kind === 'mark' ? marked.mark : marked.kind;
}
