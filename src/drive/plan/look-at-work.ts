import type { CheckResult } from '../../core/events.ts';
import { isSecretBearing } from '../../guard/files/secret-bearing.ts';
import { changeByGit } from '../../task/plan/change-by-git.ts';
import { nestedRepositories } from '../../task/plan/nested-repositories.ts';
import { commitsSince, hiddenFiles, type Repository, readRepository } from '../../task/plan/repository.ts';
import { isInScope } from '../../task/plan/task-scope.ts';
import { heldPlan } from './held-plan.ts';
import type { OpenTask } from './open-task-file.ts';
import { ownPaths, type PlanPlace } from './plan-place.ts';
import { PLAN_TEXTS } from './texts.ts';

/** What an agent has left, by everything but the commands that have to pass. */
export interface LookedAt {
  readonly results: readonly CheckResult[];
  /** Files of the attempt, relative to the project, without plan and progress file. */
  readonly changes: readonly string[];
  /** For the user. */
  readonly notes: readonly string[];
}

/**
 * What the agent left in the project: plan and progress file are held to what they were, its own commits are folded in,
 * and every changed file is held to the scope. Away from the branch of the plan nothing is written: what lies there is
 * another tree. Rejects with the abort's reason; throws what the disk says.
 */
export async function lookAtWork(place: PlanPlace, task: OpenTask, isClaimed: boolean): Promise<LookedAt> {
  const { files, contract, env, signal } = place;
  const fail = (name: string, detail: string): CheckResult => ({ name, outcome: 'failed', detail });
  const none = { changes: [], notes: [] };
  const directory = files.projectDir;
  const before = await readRepository(directory, { env, signal });
  if (typeof before === 'string') return { ...none, results: [fail('repository', before)] };
  if (before.branch !== task.branch) {
    return { ...none, results: [fail('branch', PLAN_TEXTS.otherBranch(before.branch, task.branch))] };
  }
  const held = heldPlan(place, task);
  const notes = [...held.notes];
  let stands = before;
  if (before.head !== task.commit) {
    const commits = await commitsSince(directory, task.commit, { env, signal });
    const folded = await changeByGit({ directory, words: ['reset', '--soft', task.commit], env });
    if (!folded.ok)
      return { changes: [], notes, results: [...held.results, fail('commits', PLAN_TEXTS.notFolded(folded.said))] };
    notes.push(commits === 0 ? PLAN_TEXTS.movedBack(task.id) : PLAN_TEXTS.folded(commits, task.id));
    const after = await readRepository(directory, { env, signal });
    if (typeof after === 'string') return { changes: [], notes, results: [...held.results, fail('repository', after)] };
    stands = after;
  }
  const changed = await changedSince(place, stands);
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
    ...held.results,
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

/**
 * The changed files, without those that only the index has otherwise: what an agent staged or committed and then put
 * back is no change.
 */
async function changedSince({ files, env, signal }: PlanPlace, stands: Repository): Promise<readonly string[]> {
  if (stands.halfStaged.length === 0) return stands.changed;
  const directory = files.projectDir;
  const words = ['--literal-pathspecs', 'reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const unstaged = await changeByGit({ directory, words, input: stands.halfStaged.join('\0'), env });
  const after = unstaged.ok ? await readRepository(directory, { env, signal }) : stands;
  return typeof after === 'string' ? stands.changed : after.changed;
}
