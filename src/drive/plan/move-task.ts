import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRecord, readRegularFile, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { changeByGit } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { stageTask } from './commit-task.ts';
import { progressTitle } from './finish-task.ts';
import type { MainPlan, PartPlace } from './main-plan.ts';
import { PART_TEXTS } from './messages.ts';
import { type OpenTask, readOpenTask, writeOpenTask } from './open-task-file.ts';
import { linkText, progressOf } from './plan-place.ts';

/** Write-ahead record of a move, stored outside the project: a move that was begun is done again from its start. */
interface Move {
  readonly loopId: string;
  readonly task: string;
  readonly main: MainPlan;
  /** Tree of the task's work on the commit that it began from, and that tree merged with the plan's branch. */
  readonly work: string;
  readonly merged: string;
  readonly conflicts: readonly string[];
}

export interface MovedTask {
  readonly task: OpenTask;
  /** Files with conflict markers, relative to the repository. */
  readonly conflicts: readonly string[];
}

const MOST_BYTES = 32 * 1024 * 1024;

function movePath({ files }: PartPlace): string {
  return join(files.outsideDir, `moving.${files.name ?? ''}.json`);
}

/**
 * Moves the uncommitted work of a task to the tip of the plan's branch: the worktree then holds both, with conflict
 * markers where they conflict, and the main project's plan and progress file. Not aborted. Throws RalphError `refused`.
 */
export async function moveTask(place: PartPlace, task: OpenTask, main: MainPlan): Promise<MovedTask> {
  const { contract } = place;
  const staged = await stageTask(place, task, false);
  if (!staged.ok) throw new RalphError('refused', staged.said);
  const work = await git(place, ['write-tree']);
  const commit = await git(place, ['commit-tree', work, '-p', task.commit, '-m', `Work on ${task.id}`]);
  const { merged, conflicts } = await mergeTrees(place, main.tip, commit);
  const move: Move = { loopId: contract.loopId, task: task.id, main, work, merged, conflicts };
  writeRecord(movePath(place), move);
  return apply(place, task, move);
}

/** Does a move again that a killed process began. */
export async function recoverMove(place: PartPlace): Promise<void> {
  const move = readRecord<Move>(movePath(place)) as Move | null;
  if (move === null) return;
  const task = readOpenTask(place.files, place.contract.loopId);
  if (task !== null && move.loopId === place.contract.loopId && move.task === task.id) await apply(place, task, move);
  else removeIfThere(movePath(place));
}

async function apply(place: PartPlace, task: OpenTask, move: Move): Promise<MovedTask> {
  const { main, conflicts } = move;
  await switchTree(place, move, task.dirty);
  const openedAt = task.openedAt ?? task.commit;
  const moved = adoptPlan(place, { ...task, commit: main.tip, openedAt, conflicts }, main);
  removeIfThere(movePath(place));
  return { task: moved, conflicts };
}

/** Moves branch and files of the worktree from a tree to another one. `dirty` names files that stay as they are. */
export async function switchTree(
  place: PartPlace,
  { main, work, merged }: Pick<Move, 'main' | 'work' | 'merged'>,
  dirty: readonly string[],
): Promise<void> {
  const { projectDir } = place.files;
  const kept = dirty.flatMap((path) => {
    const isPlain = lstatSync(join(projectDir, path), { throwIfNoEntry: false })?.isFile() === true;
    return isPlain ? [{ path, content: readFileSync(join(projectDir, path)) }] : [];
  });
  await git(place, ['reset', '--quiet', '--soft', main.tip]);
  // With its work in the index, git removes and replaces exactly the files that differ.
  await git(place, ['read-tree', work]);
  await git(place, ['read-tree', '--reset', '-u', merged]);
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

/** Returns the text of the progress file. */
export function copyPlan(place: PartPlace, main: MainPlan, entries: string): string | null {
  const { files, contract } = place;
  const [plan, own] = [join(files.projectDir, contract.taskPath), join(files.projectDir, progressOf(place))];
  if (readRegularFile(plan, MOST_BYTES) !== main.plan) writeFileSync(plan, main.plan);
  const progress =
    main.progress === null && entries === '' ? null : `${main.progress ?? progressTitle(contract.taskPath)}${entries}`;
  if (progress === null) removeIfThere(own);
  else if (readRegularFile(own, MOST_BYTES) !== progress) writeFileSync(own, progress);
  return progress;
}

/** Returns the merged tree; in files that conflict it has both versions between markers. */
async function mergeTrees(
  place: PartPlace,
  tip: string,
  commit: string,
): Promise<{ readonly merged: string; readonly conflicts: readonly string[] }> {
  const words = ['merge-tree', '--write-tree', '--no-messages', '--name-only', '-z', tip, commit];
  const answer = await changeByGit({ directory: place.files.projectDir, words, env: place.env });
  const [merged = '', ...conflicts] = answer.text.split('\0').filter((each) => each !== '');
  if (!/^[0-9a-f]{40,64}$/.test(merged) || (!answer.ok && answer.code !== 1)) {
    throw new RalphError('refused', PART_TEXTS.notMerged(answer.ok ? '' : answer.said));
  }
  return { merged, conflicts };
}

const LOCK_TRIES = 40;
const LOCK_MS = 250;

/** Runs git, again for ten seconds while another git holds the index. Returns its output, trimmed. */
async function git(place: PartPlace, words: readonly string[]): Promise<string> {
  for (let tries = 0; ; tries++) {
    const done = await changeByGit({ directory: place.files.projectDir, words, env: place.env });
    if (done.ok) return done.text.trim();
    if (tries === LOCK_TRIES || !done.said.includes('index.lock')) throw new RalphError('refused', done.said);
    await sleep(LOCK_MS);
  }
}
