import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { areHooksPinned } from '../../task/git/git-view.ts';
import { filesSince, readRepository } from '../../task/git/read-repository.ts';
import { changeByGit, type GitChanged, runGit } from '../../task/git/run-git.ts';
import { isInScope } from '../../task/git/task-scope.ts';
import { PLAN_TEXTS } from './messages.ts';
import type { OpenTask } from './open-task-file.ts';
import { changing, gitOptions, ownPaths, type PlanPlace } from './plan-place.ts';
import { isOfTask } from './task-files.ts';

type TaskCommit =
  | { readonly ok: true; readonly notes: readonly string[] }
  | { readonly ok: false; readonly said: string };

/** Commits all changes since the task began, including what commit hooks change in these files. `message`: its paragraphs. */
export async function commitTask(place: PlanPlace, task: OpenTask, message: readonly string[]): Promise<TaskCommit> {
  const { files, contract } = place;
  const directory = files.projectDir;
  const options = gitOptions(place);
  const staged = await stageTask(place, task);
  if (!staged.ok) return staged;
  const footers = contract.commitFooters ?? [];
  const paragraphs = [...message, ...(footers.length === 0 ? [] : [footers.join('\n')])];
  const input = `${paragraphs.join('\n\n')}\n`;
  const hooks = await areHooksPinned(directory, options);
  // One commit for each task, even if nothing changed, so that the history mirrors the plan.
  const committed = await changeByGit({
    ...changing(place),
    words: ['commit', '--quiet', '--allow-empty', '--cleanup=whitespace', '-F', '-'],
    input,
    hooks,
  });
  if (!committed.ok) return committed;
  const notes = await takeInWhatHooksChanged(place, staged.paths);
  const problem = await problemOfCommit(place, task, staged.paths, notes.length === 0);
  if (problem === null) return { ok: true, notes: hooks ? notes : [...notes, PLAN_TEXTS.otherHooks] };
  // The work stays in the working tree.
  const undone = await changeByGit({ ...changing(place), words: ['reset', '--quiet', task.commit, '--'] });
  return { ok: false, said: undone.ok ? problem : `${problem} ${undone.said}` };
}

type Staged = { readonly ok: true; readonly paths: readonly string[] } | { readonly ok: false; readonly said: string };

/** Stages all changes since the task began, and nothing else. `ownToo` includes plan and progress file. */
export async function stageTask(place: PlanPlace, task: OpenTask, ownToo = true): Promise<Staged> {
  const { files, contract } = place;
  const directory = files.projectDir;
  const options = gitOptions(place);
  const stands = await readRepository(directory, options);
  if (typeof stands === 'string') return { ok: false, said: stands };
  // Resets the index first: git adds no path whose deletion is staged, and a merge begun by the agent is dropped.
  const reset = await changeByGit({ ...changing(place), words: ['reset', '--quiet'] });
  if (!reset.ok) return reset;
  const unstaged = await readRepository(directory, options);
  if (typeof unstaged === 'string') return { ok: false, said: unstaged };
  const own = ownPaths(directory, contract.taskPath);
  const isOurs = (path: string): boolean => (own.includes(path) ? ownToo : isOfTask(directory, task, path));
  const paths = unstaged.changed.filter((path) => isOurs(path) && !unstaged.concealed.includes(path));
  // Once unstaged, ignored files are missing from the status; git refuses to add what it was made to ignore.
  const forced = stands.changed.filter(
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

/** Returns a description of what a commit should not contain; null if it is exactly the verified work. */
async function problemOfCommit(
  place: PlanPlace,
  task: OpenTask,
  paths: readonly string[],
  isWhole: boolean,
): Promise<string | null> {
  const directory = place.files.projectDir;
  const options = gitOptions(place);
  const held = await filesSince(directory, task.commit, options);
  const strange = held.filter((path) => !paths.includes(path) && !isInScope(path, task.scope));
  if (strange.length > 0) return PLAN_TEXTS.addedByHook(strange, task.id);
  const stands = isWhole ? await readRepository(directory, options) : null;
  if (stands === null || typeof stands === 'string') return stands;
  const differs = stands.concealed.filter((path) => paths.includes(path));
  return differs.length === 0 ? null : PLAN_TEXTS.differs(differs, task.id);
}

/** Amends the commit with changes that its hooks (formatters, for example) left in the tree. */
async function takeInWhatHooksChanged(place: PlanPlace, paths: readonly string[]): Promise<string[]> {
  const stands = await readRepository(place.files.projectDir, gitOptions(place));
  const changed =
    typeof stands === 'string'
      ? []
      : stands.changed.filter((path) => paths.includes(path) && !stands.concealed.includes(path));
  if (changed.length === 0) return [];
  const added = await add(place, ['--all'], changed);
  const words = ['commit', '--quiet', '--amend', '--no-edit', '--no-verify'];
  const amended = added.ok ? await changeByGit({ ...changing(place), words }) : added;
  return amended.ok ? [] : [PLAN_TEXTS.notTakenIn(changed, amended.said)];
}

async function add(place: PlanPlace, words: readonly string[], paths: readonly string[]): Promise<GitChanged> {
  if (paths.length === 0) return { ok: true, text: '' };
  return changeByGit({
    ...changing(place),
    words: ['--literal-pathspecs', 'add', ...words, ...((await isSparse(place)) ? ['--sparse'] : []), ...FROM_INPUT],
    input: paths.join('\0'),
  });
}

const FROM_INPUT = ['--pathspec-from-file=-', '--pathspec-file-nul'];

/** Returns whether the checkout is sparse: `git add` then needs --sparse, which older versions of git do not know. */
async function isSparse(place: PlanPlace): Promise<boolean> {
  const words = ['config', '--type=bool', '--get', 'core.sparseCheckout'];
  const answer = await runGit(place.files.projectDir, words, gitOptions(place));
  return answer.kind === 'answer' && answer.text.trim() === 'true';
}
