import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../core/events.ts';
import { attemptVerdict, type PlanAttempt } from '../../core/plan-attempt.ts';
import { planKey } from '../../core/plan-task.ts';
import { isSecretBearing } from '../../guard/files/secret-bearing.ts';
import { changeByGit } from '../../task/plan/change-by-git.ts';
import { nestedRepositories } from '../../task/plan/nested-repositories.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { commitsSince, hiddenFiles, readRepository } from '../../task/plan/repository.ts';
import { isInScope } from '../../task/plan/task-scope.ts';
import { heldPlan } from './held-plan.ts';
import { type OpenTask, readOpenTask } from './open-task-file.ts';
import { ownPaths, type PlanPlace, planIn } from './plan-place.ts';
import { settleBlocked, settlePartial, settleTask } from './settle-task.ts';
import { recoverSettling } from './settling.ts';
import { PLAN_TEXTS } from './texts.ts';

export type RunChecks = () => Promise<readonly CheckResult[]>;

/** What verifying came to: every check's result, and what the attempt is worth. */
export interface VerifiedAttempt {
  readonly results: readonly CheckResult[];
  readonly plan: PlanAttempt;
}

/**
 * Verifies the attempt that just ended, and writes what follows from it: entry, tick and commit of a task that passed;
 * the mark and the reasons of one that is blocked. Rejects with the abort's reason while nothing is written yet.
 */
export async function verifyAttempt(place: PlanPlace, runChecks: RunChecks): Promise<VerifiedAttempt> {
  const { files, contract } = place;
  const committed = await recoverSettling(place);
  const plan = planIn(place);
  const task = readOpenTask(files, contract.loopId);
  // A turn that a user began by hand, before any task was opened: the next prompt opens one.
  if (plan.current === null) {
    const task = { id: 'the plan', title: '' };
    return { results: [], plan: { task, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (task === null || planKey(task.id) !== planKey(plan.current.id)) {
    const results: CheckResult[] = [{ name: 'plan', outcome: 'unavailable', detail: PLAN_TEXTS.unknownStart }];
    return { results, plan: { task: plan.current, as: 'partial', tasks: tasksOf(place), notes: [] } };
  }
  if (committed !== null && planKey(committed) === planKey(task.id)) {
    return { results: [], plan: { task, as: 'done', tasks: tasksOf(place), notes: [] } };
  }
  const held = await heldPlan(place, task);
  const looked = await lookAtWork(place, task, plan.report?.said === 'done');
  const notes = [...held.notes, ...looked.notes];
  const results: CheckResult[] = [...held.results, ...looked.results];
  // What is done in part, or not at all by the agent's own word, has nothing to prove.
  if (plan.report?.said === 'done') results.push(...(await runChecks()));
  const settled = { changes: looked.changes, results };
  const passed = results.every(({ outcome }) => outcome === 'ok');
  let as = attemptVerdict(plan, passed);
  if (as === 'done') {
    // Half of a commit is worse than one that came late.
    const calm = { ...place, signal: new AbortController().signal };
    const problem = await settleTask(calm, task, settled);
    if (problem !== null) {
      results.push(problem);
      as = attemptVerdict(plan, false);
    }
  }
  if (as === 'blocked') settleBlocked(place, task, settled);
  if (as === 'partial') settlePartial(place, task, settled);
  return { results, plan: { task: { id: task.id, title: task.title }, as, tasks: tasksOf(place), notes } };
}

/** What the agent left in the repository: its own commits are folded in, and every changed file is held to the scope. */
async function lookAtWork(
  { files, contract, env, signal }: PlanPlace,
  task: OpenTask,
  isClaimed: boolean,
): Promise<Pick<VerifiedAttempt, 'results'> & { readonly changes: readonly string[]; readonly notes: string[] }> {
  const fail = (name: string, detail: string): CheckResult => ({ name, outcome: 'failed', detail });
  const none = { changes: [], notes: [] };
  const directory = files.projectDir;
  const before = await readRepository(directory, { env, signal });
  if (typeof before === 'string') return { ...none, results: [fail('repository', before)] };
  if (before.branch !== task.branch) {
    return { ...none, results: [fail('branch', PLAN_TEXTS.otherBranch(before.branch, task.branch))] };
  }
  const notes: string[] = [];
  let { changed } = before;
  if (before.head !== task.commit) {
    const commits = await commitsSince(directory, task.commit, { env, signal });
    const folded = await changeByGit({ directory, words: ['reset', '--soft', task.commit], env });
    if (!folded.ok) return { ...none, results: [fail('commits', PLAN_TEXTS.notFolded(folded.said))] };
    notes.push(PLAN_TEXTS.folded(Math.max(1, commits), task.id));
    const after = await readRepository(directory, { env, signal });
    if (typeof after === 'string') return { ...none, results: [fail('repository', after)] };
    changed = after.changed;
  }
  const own = ownPaths(directory, task.planPath);
  const changes = changed.filter((path) => !own.includes(path) && !task.dirty.includes(path));
  const outside = changes.filter((path) => !isInScope(path, task.scope));
  const secrets = contract.guardrails.lifted?.includes('secrets')
    ? []
    : changes.filter((path) => isSecretBearing(path) && !task.scope.includes(path));
  const within = changes.filter((path) => !outside.includes(path));
  const { strange, unsaved } = await nestedRepositories(directory, within, task.commit, { env, signal });
  const known = task.hidden ?? null;
  const hides = known === null ? [] : await hiddenFiles(directory, { env, signal });
  const hidden = (hides ?? []).filter((path) => known?.includes(path) === false);
  // Where no command has to pass, changed files are all that speaks for the work.
  const idle = isClaimed && changes.length === 0 && contract.validation.length === 0;
  const results = [
    ...(idle ? [fail('work', PLAN_TEXTS.nothingChanged(task.id))] : []),
    ...(outside.length === 0 ? [] : [fail('scope', PLAN_TEXTS.outOfScope(outside, task.id))]),
    ...(strange.length === 0 ? [] : [fail('repositories', PLAN_TEXTS.nested(strange))]),
    ...(unsaved.length === 0 ? [] : [fail('submodules', PLAN_TEXTS.unsaved(unsaved))]),
    ...(hidden.length === 0 ? [] : [fail('hidden', PLAN_TEXTS.hidden(hidden))]),
    ...(hides === null ? [fail('hidden', PLAN_TEXTS.hiddenUnknown)] : []),
    ...(secrets.length === 0 ? [] : [fail('secrets', PLAN_TEXTS.secrets(secrets))]),
  ];
  return { results, changes, notes };
}

function tasksOf({ files, contract }: PlanPlace): PlanAttempt['tasks'] {
  try {
    return readPlan(readFileSync(join(files.projectDir, contract.taskPath), 'utf8')).tasks;
  } catch {
    return []; // a plan that is gone is told when the next prompt is made
  }
}
