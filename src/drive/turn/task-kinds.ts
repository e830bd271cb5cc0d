import { fileTask } from '../prompt/file-task.ts';
import type { TaskKind } from './task-kind.ts';
import type { Turn } from './turn.ts';

/** Returns the kind of a turn's task. A loop without a plan never loads the plan's code. */
export async function taskKindOf({ loaded }: Turn): Promise<TaskKind> {
  return loaded.stored?.contract.policy.plan ? (await import('../plan/plan-task.ts')).planTask : fileTask;
}
