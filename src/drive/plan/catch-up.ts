import { planKey } from '../../engine/plan/task-order.ts';
import { readRepository } from '../../task/git/read-repository.ts';
import { type PartPlace, readMain } from './main-plan.ts';
import { adoptPlan, copyPlan, moveTask, switchTree } from './move-task.ts';
import { readOpenTask } from './open-task-file.ts';
import { gitOptions } from './plan-place.ts';

/**
 * Moves a worktree to the tip of the plan's branch when its session begins: what the plan there says is done is then
 * there. Work of an earlier session is moved along. A worktree whose agent has left its branch stays as it is.
 */
export async function catchUp(place: PartPlace): Promise<void> {
  const { files, contract, part } = place;
  const calm = { ...place, signal: new AbortController().signal };
  const stands = await readRepository(files.projectDir, gitOptions(calm));
  if (typeof stands === 'string' || stands.head === null || stands.branch === null) return;
  const main = readMain(place);
  const before = readOpenTask(files, contract.loopId);
  if (before === null || planKey(before.id) !== planKey(part.task)) {
    if (stands.head !== main.tip) {
      await switchTree(calm, { main, work: stands.head, merged: main.tip }, stands.changed);
    }
    copyPlan(place, main, '');
    return;
  }
  if (stands.branch !== before.branch) return;
  if (main.tip === before.commit) adoptPlan(place, before, main);
  else await moveTask(calm, before, main);
}
