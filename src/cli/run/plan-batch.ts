import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { type Batch, dropBatch, type PlanBatch } from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import { readPlanText } from '../../drive/parallel/plan-end.ts';
import { resumedPlanBatch } from '../../drive/parallel/plan-entry.ts';
import { userGit } from '../../drive/worktree/repository.ts';
import { blockedIn } from '../../engine/plan/attempt.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { planToStart, refuseOverLoop } from '../start/start-plan.ts';
import { startTarget } from '../start/start-request.ts';
import { atOnceOf, wordsOf } from './batch-options.ts';
import { prepareSetUp } from './in-worktree.ts';
import { runTask } from './run-task.ts';

const FOREIGN = ['loop', 'tdd', 'arg', 'consent', 'require-verified'];

/** Checks a plan whose tasks are to run side by side, before anything is created. Throws RalphError with all problems. */
export async function beginPlan(context: CommandContext): Promise<PlanBatch | null> {
  const { projectDir, env, values, positionals, rest, mayAsk } = context;
  for (const option of FOREIGN) {
    if (values[option] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.noWord(option));
  }
  if (values['integrate'] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.planIntegrates);
  if (positionals.length > 1) throw new RalphError('usage', PARALLEL_TEXTS.onePlan(positionals));
  const atOnce = atOnceOf(values['parallel']);
  const own = await runTask(context);
  if (own === null) return null;
  const { files, task } = startTarget(own, 'run');
  refuseOverLoop(own, files);
  const start = await planToStart(own, files, task, mayAsk);
  if (task === null || start === null) return null;
  if (lstatSync(join(projectDir, task)).isSymbolicLink())
    throw new RalphError('refused', PARALLEL_TEXTS.planLink(task));
  if (!userGit(projectDir, ['merge-tree', '--write-tree', 'HEAD', 'HEAD'], env).ok) {
    throw new RalphError('refused', PARALLEL_TEXTS.oldGit);
  }
  const { policy } = prepareSetUp(own, task, start).resolved;
  const branch = userGit(projectDir, ['symbolic-ref', '--short', 'HEAD'], env).text.trim();
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const { tasks } = readPlan(readPlanText(projectDir, task));
  dropBatch(projectDir, env);
  return {
    ...{ startedAt: context.now(), runner: { pid: process.pid, startedAt: null }, atOnce, integrate: 'none' },
    // The budget of the plan is for all of its tasks.
    ...{ limits: { maxCostUsd, maxTokens, maxTimeMs }, fresh: false },
    ...{ words: [...wordsOf(context), '--project', projectDir], rest: [...rest], tasks: [] },
    plan: {
      ...{ path: task, branch, from: start.from, maxTasks: policy.plan?.maxTasks ?? 1, done: [] },
      blocked: blockedIn(tasks),
    },
  };
}

/** Returns the record of a plan's tasks that are taken up again, or of tasks that are not those of a plan as it is. */
export function takeUp({ values, projectDir }: CommandContext, batch: Batch): Batch {
  const { plan } = batch;
  if (plan === undefined) return batch;
  const given = values['max-tasks'];
  const maxTasks = given === undefined ? plan.maxTasks : Number(given);
  if (!Number.isInteger(maxTasks) || maxTasks < 1)
    throw new RalphError('usage', `--max-tasks ${given}: give a number.`);
  return resumedPlanBatch(projectDir, { ...batch, plan: { ...plan, maxTasks } });
}
