import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { hasEvidence } from '../../engine/policy/proof.ts';
import { whyRejected } from '../../task/git/commit-form.ts';
import { areHooksPinned } from '../../task/git/git-pins.ts';
import { filesSince, type Repository, readRepository } from '../../task/git/read-repository.ts';
import { changeByGit, type GitChanged } from '../../task/git/run-git.ts';
import { isInScope } from '../../task/git/task-scope.ts';
import { RalphError } from '../../text/message.ts';
import { type CommitIntent, type OpenTask, writeIntent } from '../records/open-task-file.ts';
import { type CheckedWork, isProved, moveBranch } from './commit-journal.ts';
import { isOfTask, reportsOf } from './examine-work.ts';
import { PLAN_TEXTS } from './messages.ts';
import { changing, git, gitOptions, ownPaths, type PlanChecks, type PlanPlace } from './plan-place.ts';

export type TaskCommit =
  /** `commit`: null if git does not name it. */
  | { readonly ok: true; readonly notes: readonly string[]; readonly commit: string | null }
  /** `why`: git's error, or the checks that fail on the commit. */
  | { readonly ok: false; readonly why: string | readonly CheckResult[] }
  /** The commit-msg hook rejects the message, which the agent did not write. */
  | { readonly ok: false; readonly why: string; readonly isMessage: true };

/**
 * Commits all changes since the task began, including those that commit hooks make in these files. If the commit has
 * other files than the one that passed the checks, the branch does not move to it until they pass on it as well.
 */
export async function commitTask(
  place: PlanPlace,
  task: OpenTask,
  { intent, work }: { readonly intent: CommitIntent; readonly work: CheckedWork },
  checks: PlanChecks,
): Promise<TaskCommit> {
  const directory = place.files.projectDir;
  const staged = await stageTask(place, task, work.changes);
  if (!staged.ok) return { ok: false, why: staged.said };
  const hooks = await areHooksPinned(directory, gitOptions(place));
  // Every task gets one commit, even without a change, so that the history mirrors the plan.
  const words = ['commit', '--quiet', '--allow-empty', '--cleanup=whitespace', '-F', '-'];
  const commit = () => changeByGit({ ...changing(place), words, input: intent.message, hooks });
  let committed = await commit();
  if (!committed.ok && hooks && (await isStagedAnew(place, staged.paths))) committed = await commit();
  if (!committed.ok) {
    const { env, sandbox } = changing(place);
    const said = hooks ? await whyRejected(directory, intent.message, env, sandbox) : null;
    if (said !== null) return { ok: false, why: PLAN_TEXTS.messageRejected(said), isMessage: true };
    return { ok: false, why: committed.said };
  }
  const { notes, stands } = await takeInWhatHooksChanged(place, staged.paths);
  const problem = await problemOfCommit(place, task, { paths: staged.paths, work }, notes.length === 0 ? stands : null);
  const failing = problem === null ? await proveAgain(place, intent, checks) : [];
  if (problem === null && failing.length === 0) {
    const { head: commit = null, changed = [] } = typeof stands === 'string' ? {} : stands;
    const reports = reportsOf(place);
    const isLeft = (path: string): boolean => !isInScope(path, task.scope) && !reports.includes(path);
    const left = changed.filter((path) => isLeft(path) && isOfTask(directory, task, path));
    const more = [
      ...(left.length === 0 ? [] : [PLAN_TEXTS.leftOut(left, task.id)]),
      ...(hooks ? [] : [PLAN_TEXTS.otherHooks]),
    ];
    return { ok: true, notes: [...notes, ...more], commit };
  }
  // The work stays in the working tree.
  const undone = await changeByGit({ ...changing(place), words: ['reset', '--quiet', task.commit, '--'] });
  if (problem === null) return { ok: false, why: failing };
  return { ok: false, why: undone.ok ? problem : `${problem} ${undone.said}` };
}

/** Stages what a hook changed in these files before it rejected their commit, as formatters do; returns whether it changed any. */
async function isStagedAnew(place: PlanPlace, paths: readonly string[]): Promise<boolean> {
  const before = await git(place, ['write-tree']);
  const added = await add(place, ['--all'], paths);
  return added.ok && (await git(place, ['write-tree'])) !== before;
}

/** Runs the checks on the commit if hooks, or a process left running, changed files since they passed. Returns what fails. */
async function proveAgain(place: PlanPlace, intent: CommitIntent, checks: PlanChecks): Promise<readonly CheckResult[]> {
  const { parent } = intent;
  if (await isProved(place, intent)) return [];
  const stands = await readRepository(place.files.projectDir, gitOptions(place));
  const made = typeof stands === 'string' ? null : stands.head;
  if (made === null) throw new RalphError('refused', String(stands));
  await moveBranch(place, parent);
  const failing = (await checks.on(made)).filter(({ outcome }) => outcome !== 'ok');
  if (failing.length > 0) return failing;
  writeIntent(place.files, { ...intent, proved: made });
  await moveBranch(place, made);
  return [];
}

type Staged = { readonly ok: true; readonly paths: readonly string[] } | { readonly ok: false; readonly said: string };

/**
 * Stages all changes since the task began, and nothing else. `changes` are the files in which its work was found; those that
 * git was made to ignore are staged as well. `ownToo` includes plan and progress file.
 */
export async function stageTask(
  place: PlanPlace,
  task: OpenTask,
  changes: readonly string[],
  ownToo = true,
): Promise<Staged> {
  const { files, contract } = place;
  const directory = files.projectDir;
  // Resets the index first: git does not add paths whose deletion is staged. This drops an agent's merge.
  const reset = await changeByGit({ ...changing(place), words: ['reset', '--quiet'] });
  if (!reset.ok) return reset;
  const stands = await readRepository(directory, gitOptions(place));
  if (typeof stands === 'string') return { ok: false, said: stands };
  const own = ownPaths(directory, contract.taskPath);
  // Files that appeared outside the scope after the examination belong to the user, or to a process left running.
  const isExamined = (path: string): boolean => changes.includes(path) || isInScope(path, task.scope);
  const isOurs = (path: string): boolean =>
    own.includes(path) ? ownToo : isExamined(path) && isOfTask(directory, task, path);
  const paths = stands.changed.filter((path) => isOurs(path) && !stands.concealed.includes(path));
  // Once unstaged, ignored files are missing from the status; git refuses to add what it was made to ignore.
  const forced = changes.filter(
    (path) =>
      isOurs(path) &&
      !paths.includes(path) &&
      lstatSync(join(directory, path), { throwIfNoEntry: false })?.isDirectory() === false,
  );
  const added = await add(place, ['--all'], paths);
  if (!added.ok) return added;
  const addedToo = await add(place, ['--force'], forced);
  return addedToo.ok ? { ok: true, paths: [...paths, ...forced] } : addedToo;
}

/**
 * Returns a description of what a commit should not contain; null if it is exactly the verified work. `stands`: state of
 * the repository after the commit; null if it lacks something that its hooks changed.
 */
async function problemOfCommit(
  place: PlanPlace,
  task: OpenTask,
  { paths, work }: { readonly paths: readonly string[]; readonly work: CheckedWork },
  stands: Repository | string | null,
): Promise<string | null> {
  const held = await filesSince(place.files.projectDir, task.commit, gitOptions(place));
  if (held === null) return PLAN_TEXTS.unknownCommit;
  const strange = held.filter((path) => !paths.includes(path) && !isInScope(path, task.scope));
  if (strange.length > 0) return PLAN_TEXTS.addedByHook(strange, task.id);
  // Line ends, filters and hooks may remove every change that the work tree shows.
  const changes = work.evidence.changes.filter((path) => held.includes(path));
  if (!hasEvidence({ ...work.evidence, changes }, work.results)) return PLAN_TEXTS.emptyCommit(task.id);
  if (stands === null || typeof stands === 'string') return stands;
  const differs = stands.concealed.filter((path) => paths.includes(path));
  return differs.length === 0 ? null : PLAN_TEXTS.differs(differs, task.id);
}

/** Amends the commit with what its hooks (such as formatters) left in the tree. Returns the repository after that. */
async function takeInWhatHooksChanged(
  place: PlanPlace,
  paths: readonly string[],
): Promise<{ readonly notes: readonly string[]; readonly stands: Repository | string }> {
  const look = () => readRepository(place.files.projectDir, gitOptions(place));
  const stands = await look();
  if (typeof stands === 'string') return { notes: [], stands };
  const changed = stands.changed.filter((path) => paths.includes(path) && !stands.concealed.includes(path));
  if (changed.length === 0) return { notes: [], stands };
  const added = await add(place, ['--all'], changed);
  const words = ['commit', '--quiet', '--amend', '--no-edit', '--no-verify'];
  const amended = added.ok ? await changeByGit({ ...changing(place), words }) : added;
  return amended.ok
    ? { notes: [], stands: await look() }
    : { notes: [PLAN_TEXTS.notTakenIn(changed, amended.said)], stands };
}

async function add(place: PlanPlace, words: readonly string[], paths: readonly string[]): Promise<GitChanged> {
  if (paths.length === 0) return { ok: true, text: '' };
  const stage = (...sparse: string[]) =>
    changeByGit({
      ...changing(place),
      words: ['--literal-pathspecs', 'add', ...words, ...sparse, '--pathspec-from-file=-', '--pathspec-file-nul'],
      input: paths.join('\0'),
    });
  const added = await stage();
  if (added.ok) return added;
  // Outside a sparse checkout git adds no file without --sparse, which older versions do not know.
  const outside = await stage('--sparse');
  return outside.ok ? outside : added;
}
