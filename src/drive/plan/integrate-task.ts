import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { readRepository } from '../../task/git/read-repository.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { clearIntent, readIntent, recoverCommit, rollBack } from './commit-journal.ts';
import { examineWork } from './examine-work.ts';
import { type CheckedWork, finishTask } from './finish-task.ts';
import { type PartPlace, publishCommit, readMain } from './main-plan.ts';
import { PART_TEXTS } from './messages.ts';
import { adoptPlan, moveTask, recoverMove } from './move-task.ts';
import type { OpenTask } from './open-task-file.ts';
import { gitOptions, type PlanPlace } from './plan-place.ts';

export interface IntegratedTask {
  /** `misfit`: it does not fit what was committed meanwhile. `failed`: it could not be committed. */
  readonly end: 'done' | 'misfit' | 'failed';
  readonly work: CheckedWork;
  readonly notes: readonly string[];
}

/** How often the plan's branch may move while a task is being integrated: only a person moves it then. */
const MOST_TRIES = 5;
const MARKERS = /^(?:<{7}|>{7}) /m;

/**
 * Commits the passed work of a task on top of the plan's branch: moves it there, verifies it again if the branch has
 * moved since the task began, commits it in the worktree with entry and tick, and moves the branch forward. In the
 * task's turn. Throws RalphError `refused` if the main project stands in the way; rejects with the abort's reason.
 */
export async function integrateTask(
  place: PartPlace,
  begun: OpenTask,
  passed: CheckedWork,
  runChecks: () => Promise<readonly CheckResult[]>,
): Promise<IntegratedTask> {
  const calm = { ...place, signal: new AbortController().signal };
  const notes = leftOut(place, begun);
  let [task, work] = [begun, passed];
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const main = readMain(place);
    if (main.tip === task.commit) task = adoptPlan(calm, task, main);
    else {
      const { task: moved, conflicts } = await moveTask(calm, task, main);
      task = moved;
      if (conflicts.length > 0) return misfit(passed, PART_TEXTS.conflicts(conflicts, task.id), notes);
      const { results, changes } = await examineWork(place, task, true);
      const all = [...results, ...(await runChecks())];
      work = { results: all, changes };
      if (all.some(({ outcome }) => outcome !== 'ok')) return misfit(work, PART_TEXTS.notTogether(task.id), notes);
    }
    const finished = await finishTask(calm, task, work);
    if (finished.problem !== null) {
      return { end: 'failed', work: { ...work, results: [...work.results, finished.problem] }, notes };
    }
    if (await publishOwn(calm)) return { end: 'done', work, notes: [...notes, ...finished.notes] };
  }
  throw new RalphError('refused', PART_TEXTS.keepsMoving(place.part.branch));
}

function misfit({ results, changes }: CheckedWork, detail: string, notes: readonly string[]): IntegratedTask {
  const reason: CheckResult = { name: 'integration', outcome: 'failed', detail };
  return { end: 'misfit', work: { results: [reason, ...results], changes }, notes };
}

/** Returns the files of a former conflict that still have its markers. */
export function withMarkers({ files }: PlanPlace, { conflicts = [] }: OpenTask): readonly string[] {
  return conflicts.filter((path) => MARKERS.test(readRegularFile(join(files.projectDir, path), MOST_BYTES) ?? ''));
}

const MOST_BYTES = 8 * 1024 * 1024;

/** Recovers what a killed process began. Returns the id of the task if its commit is on the plan's branch. */
export async function recoverTask(place: PlanPlace): Promise<string | null> {
  const { part } = place;
  if (part === undefined) return recoverCommit(place);
  const own = { ...place, part };
  await recoverMove(own);
  const committed = await recoverCommit(place);
  return committed !== null && (await publishOwn(own)) ? committed : null;
}

/** Publishes the commit that was just made in the worktree. Takes it back, and returns false, if the branch has moved. */
async function publishOwn(place: PartPlace): Promise<boolean> {
  const { files, env } = place;
  const [stands, intent] = [await readRepository(files.projectDir, gitOptions(place)), readIntent(place)];
  if (typeof stands === 'string' || stands.head === null || intent === null) {
    throw new RalphError('refused', PART_TEXTS.notPublished(place.part.task, place.part.branch, String(stands)));
  }
  if (publishCommit(place, stands.head, intent)) return true;
  const undone = await changeByGit({
    directory: files.projectDir,
    words: ['reset', '--quiet', intent.parent, '--'],
    env,
  });
  if (!undone.ok) throw new RalphError('refused', undone.said);
  await rollBack(place, intent);
  clearIntent(place);
  return false;
}

/** Notes that the agent changed the plan: the one in the main project counts. */
function leftOut({ files, contract }: PartPlace, task: OpenTask): string[] {
  const text = readFileSync(join(files.projectDir, contract.taskPath), 'utf8');
  return text === task.plan ? [] : [PART_TEXTS.planLeftOut(task.id, contract.taskPath)];
}
