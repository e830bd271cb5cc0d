import type { CheckResult } from '../../engine/events.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { dropIntent, type OpenTask, writeIntent } from '../records/open-task-file.ts';
import { type FoundWork, intentOf } from './commit-intent.ts';
import { rollBack, writeTexts } from './commit-journal.ts';
import { stageTask } from './commit-task.ts';
import { changing, type PlanChecks, type PlanPlace } from './plan-place.ts';

export interface Proved {
  readonly results: readonly CheckResult[];
  /** Commit on which the checks ran, on no branch; null if they ran in the project, or there are none. */
  readonly commit: string | null;
}

/**
 * Runs the checks on exactly what the commit of the task will contain, unless they run in the project. Project, index and
 * branch are then as before, apart from staged work. Throws RalphError `refused` if git refuses.
 */
export async function proveWork(
  place: PlanPlace,
  task: OpenTask,
  work: FoundWork,
  checks: PlanChecks,
): Promise<Proved> {
  const { contract } = place;
  const isOnCommit = contract.verifyIn !== undefined && contract.validation.length > 0;
  const commit = isOnCommit ? await candidateOf(place, task, work) : null;
  return { results: commit === null ? await checks.inProject() : await checks.on(commit), commit };
}

/** Creates the commit that the task would make, without a branch and without hooks; null if the plan lost the task. */
async function candidateOf(place: PlanPlace, task: OpenTask, work: FoundWork): Promise<string | null> {
  const { files, contract } = place;
  const intent = intentOf(place, task, work);
  if (intent === null) return null;
  // A process that is killed now has written texts that the next one removes.
  writeIntent(files, intent);
  try {
    writeTexts(place, intent);
    const staged = await stageTask(place, task, work.changes);
    if (!staged.ok) throw new RalphError('refused', staged.said);
    const tree = await git(place, ['write-tree']);
    return await git(place, ['commit-tree', tree, '-p', task.commit], intent.message);
  } finally {
    await rollBack(place, intent);
    dropIntent(files, contract);
  }
}

async function git(place: PlanPlace, words: readonly string[], input = ''): Promise<string> {
  const done = await changeByGit({ ...changing(place), words, input });
  if (!done.ok) throw new RalphError('refused', done.said);
  return done.text.trim();
}
