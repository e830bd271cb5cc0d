import { appendFileSync, existsSync, readFileSync, realpathSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { modeOf, readRegularFile, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { filesSince, isInHistory, lastCommit, readRepository } from '../../task/git/read-repository.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { type CommitIntent, dropIntent, readIntent } from '../records/open-task-file.ts';
import { changing, gitOptions, ownPaths, type PlanPlace, progressOf } from './plan-place.ts';

/**
 * Recovers an interrupted commit: returns the task's id if the commit was made, has the files that passed the checks (its
 * record stays) and has all that its hooks changed, else rolls back. Throws RalphError `refused` if git refuses.
 */
export async function recoverCommit(place: PlanPlace): Promise<string | null> {
  const { files, contract } = place;
  const intent = readIntent(files, contract);
  if (intent !== null) {
    if (intent.made !== undefined && (await isInHistory(files.projectDir, intent.made, gitOptions(place)))) {
      return intent.task;
    }
    const last = await lastCommit(files.projectDir, gitOptions(place));
    if (last?.parent === intent.parent && last.subject === intent.subject) {
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

/** Returns the files in which HEAD differs from a commit, apart from the loop's own two; null if git does not answer. */
async function othersSince(place: PlanPlace, commit: string): Promise<string[] | null> {
  const { files, contract } = place;
  const own = ownPaths(files.projectDir, contract.taskPath);
  const differs = await filesSince(files.projectDir, commit, gitOptions(place));
  return differs?.filter((path) => !own.includes(path)) ?? null;
}

/** Moves the branch to a commit; index and files stay. Throws RalphError `refused` if git refuses. */
export async function moveBranch(place: PlanPlace, commit: string): Promise<void> {
  const moved = await changeByGit({ ...changing(place), words: ['reset', '--quiet', '--soft', commit] });
  if (!moved.ok) throw new RalphError('refused', moved.said);
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
  // Unstages. git rejects paths that it does not know, which need no unstaging.
  for (const path of ownPaths(files.projectDir, contract.taskPath)) {
    await changeByGit({ ...changing(place), words: ['reset', '--quiet', '--', path] });
  }
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
