import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch, PlanBatch } from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import { readPlanText, resumedPlanBatch } from '../../drive/parallel/plan-entry.ts';
import { userGit } from '../../drive/worktree/repository.ts';
import { blockedIn } from '../../engine/plan/attempt.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';
import { planToStart, refuseOverLoop } from '../start/start-plan.ts';
import { startTarget } from '../start/start-request.ts';
import { atOnceOf, limitsOf, refuseForeign, wordsOf } from './batch-options.ts';
import { runTask } from './run-task.ts';

/** Checks a plan whose tasks are to run side by side, before anything is created. Throws RalphError with all problems. */
export async function beginPlan(context: CommandContext): Promise<PlanBatch | null> {
  const { projectDir, env, values, positionals, rest, mayAsk } = context;
  refuseForeign(context, 'plan');
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
  const branch = userGit(projectDir, ['symbolic-ref', '--short', 'HEAD'], env).text.trim();
  const { tasks } = readPlan(readPlanText(projectDir, task));
  return {
    ...{ startedAt: context.now(), runner: { pid: process.pid, startedAt: null }, atOnce, integrate: 'none' },
    ...{ limits: limitsOf(context), fresh: false },
    ...{ words: [...wordsOf(context), '--project', projectDir], rest: [...rest], tasks: [] },
    plan: { path: task, branch, from: start.from, maxTasks: 1, done: [], blocked: blockedIn(tasks) },
  };
}

/** Returns the record with the limits of its plan: the budget is for all of the tasks. */
export function withPolicy(batch: Batch, policy: Policy): Batch {
  if (batch.plan === undefined) return batch;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const plan = { ...batch.plan, maxTasks: policy.plan?.maxTasks ?? 1 };
  return { ...batch, limits: { maxCostUsd, maxTokens, maxTimeMs }, plan };
}

/** Returns the record of a plan's tasks that are taken up again, or of tasks that are not those of a plan as it is. */
export function takeUp({ values, projectDir }: CommandContext, batch: Batch): Batch {
  const { plan } = batch;
  const given = values['max-tasks'];
  if (plan === undefined && given !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.noPlan);
  if (plan === undefined) return batch;
  if (values['require-verified'] === true) throw new RalphError('usage', PARALLEL_TEXTS.noWord('require-verified'));
  const maxTasks = given === undefined ? plan.maxTasks : Number(given);
  if (!Number.isInteger(maxTasks) || maxTasks < 1)
    throw new RalphError('usage', `--max-tasks ${given}: give a number.`);
  return resumedPlanBatch(projectDir, { ...batch, plan: { ...plan, maxTasks } });
}
