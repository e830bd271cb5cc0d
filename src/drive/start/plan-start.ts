import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { planOf } from '../../engine/plan/attempt.ts';
import { nextPlanTask, planKey } from '../../engine/plan/task-order.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { filesAtEnd, unlessLost } from '../../state/evidence/evidence.ts';
import { contractOfLoop, type LoopFiles } from '../../state/loop-files.ts';
import { readRepository } from '../../task/git/read-repository.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { otherLoopText } from '../../task/other-tools.ts';
import { type PlanFile, readPlan } from '../../task/plan/read-plan.ts';
import { MAIN_BRANCHES } from '../../task/settings/main-branches.ts';
import { progressPath } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { isOfTask } from '../plan/examine-work.ts';
import { PLAN_TEXTS } from '../plan/messages.ts';
import { errorsIn } from '../plan/open-task.ts';
import { ownPaths } from '../plan/plan-place.ts';
import { type OpenTask, readOpenTask } from '../records/open-task-file.ts';
import { readTaskFile } from './find-task.ts';

interface PlanStartRequest {
  readonly projectDir: string;
  readonly planPath: string;
  readonly from: string | null;
  /** The loop to resume, which may have left uncommitted work; null for a new loop. */
  readonly resumed: { readonly files: LoopFiles; readonly state: Pick<LoopState, 'loopId' | 'plan'> } | null;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Checks that a plan can be executed here; changes nothing and runs nothing of the repository. Throws RalphError with all
 * problems. Returns the main branch if the repository is on it (no plan runs there), or null; `from` as written in the plan;
 * and notes.
 */
export async function checkPlanStart(request: PlanStartRequest) {
  const { projectDir, planPath, env } = request;
  const text = readText(projectDir, planPath);
  const plan = readPlan(text);
  const other = plan.tasks.length === 0 ? otherLoopText(planPath, text, 'no plan of tasks') : null;
  const broken = other ?? errorsIn(plan);
  const problems = broken === null ? beginProblems(plan, request) : [PLAN_TEXTS.lint(planPath, broken)];
  const progress = progressPath(planPath);
  const standing = lstatSync(join(projectDir, progress), { throwIfNoEntry: false });
  if (standing?.isFile() === false) problems.push(PLAN_TEXTS.noProgressFile(progress));
  const stands = await readRepository(projectDir, { env });
  let mainBranch: string | null = null;
  if (typeof stands === 'string') problems.push(PLAN_TEXTS.noRepository(stands));
  else if (stands.head === null) problems.push(PLAN_TEXTS.noCommit);
  else {
    if (!(await hasIdentity(projectDir, env))) problems.push(PLAN_TEXTS.noIdentity);
    if (stands.branch === null) problems.push(PLAN_TEXTS.noBranch);
    else if (MAIN_BRANCHES.includes(stands.branch)) mainBranch = stands.branch;
    if (stands.unfinished !== null) problems.push(stands.unfinished);
    const own = ownPaths(projectDir, planPath);
    const isKnown = request.resumed === null ? () => false : loopsWork(request.resumed, plan);
    const dirty = stands.changed.filter((path) => !own.includes(path) && !isKnown(path));
    if (dirty.length > 0) problems.push(PLAN_TEXTS.dirty(dirty, request.resumed !== null));
  }
  if (problems.length > 0) {
    if (mainBranch !== null) problems.push(PLAN_TEXTS.mainBranch(mainBranch, planBranch(planPath)));
    throw new RalphError('task-invalid', problems.join('\n'));
  }
  const warnings = plan.problems.filter(({ severity }) => severity === 'warning');
  return {
    mainBranch,
    from: plan.tasks.find(({ id }) => request.from !== null && planKey(id) === planKey(request.from))?.id ?? null,
    notes: warnings.map(({ line, message }) => `line ${line}: ${message}`),
  };
}

/** Returns a test for files that the loop left uncommitted: with its open task, before it, or with a blocked task. */
function loopsWork(
  { files, state }: NonNullable<PlanStartRequest['resumed']>,
  { tasks }: PlanFile,
): (path: string) => boolean {
  const open = openTaskOf(files, state.loopId);
  if (open === null) return () => false;
  // The user takes the present state as a new start.
  if (open === 'lost') return () => true;
  const key = planKey(open.id);
  const undone = new Set(tasks.filter(({ status }) => status !== 'done').map(({ id }) => planKey(id)));
  // A ticked box counts only once its commit exists.
  const current = planOf(state).current;
  const isOpen = undone.has(key) || (current !== null && planKey(current.id) === key);
  const left = new Set(Object.entries(open.left ?? {}).flatMap(([of, paths]) => (undone.has(of) ? paths : [])));
  return (path) => left.has(path) || (isOpen && (open.dirty.includes(path) || isOfTask(files.projectDir, open, path)));
}

/** Returns the task that a loop has left open; null if it has none. */
function openTaskOf(files: LoopFiles, loopId: string): OpenTask | 'lost' | null {
  const stored = contractOfLoop(files, loopId);
  if (stored === null) return null;
  return unlessLost(() => readOpenTask(filesAtEnd(files), stored.contract), 'lost');
}

/** Returns whether git knows an author. Uses the environment of a commit, where variables may name the identity. */
async function hasIdentity(directory: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const names = ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'];
  const answers = await Promise.all(names.map((name) => changeByGit({ directory, words: ['var', name], env })));
  return answers.every(({ ok }) => ok);
}

export function planBranch(planPath: string): string {
  const name = planPath.slice(planPath.lastIndexOf('/') + 1).replace(/\.(?:md|markdown)$/i, '');
  return `plan/${name.replace(/[^a-zA-Z0-9._-]+/g, '-').replace(/^[.-]+|[.-]+$/g, '') || 'tasks'}`;
}

function beginProblems({ tasks }: PlanFile, { from, planPath }: PlanStartRequest): string[] {
  const { next, stop } = nextPlanTask(tasks, from);
  if (from !== null) {
    const task = tasks.find(({ id }) => planKey(id) === planKey(from));
    if (task === undefined) return [PLAN_TEXTS.unknownFrom(from, planPath)];
    const done = new Set(tasks.filter(({ status }) => status === 'done').map(({ id }) => planKey(id)));
    const needs = task.dependsOn.filter((id) => !done.has(planKey(id)));
    if (task.status === 'open' && needs.length > 0) return [PLAN_TEXTS.waitingFrom(from, needs)];
  }
  // A plan that is done or waits for a person ends with that message.
  return next === null && stop === null ? [PLAN_TEXTS.nothingToDo(planPath, 'none is open')] : [];
}

function readText(projectDir: string, planPath: string): string {
  const bytes = readTaskFile(projectDir, planPath);
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new RalphError('task-invalid', PLAN_TEXTS.notUtf8(planPath));
}
