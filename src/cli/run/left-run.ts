import { isRunLeft } from '../../drive/parallel/batch.ts';
import { lastLoopIn } from '../../drive/start/find-task.ts';
import { loopNames } from '../../drive/status/loop-report.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { mainProjectOf } from '../../task/task-file.ts';
import { liveLoops } from '../choose-loop.ts';
import type { CommandContext } from '../command.ts';
import { partOfPlan, requireRunOf } from '../start/start-plan.ts';

/** Key of a value that no option sets: the unnamed loop is meant, not the last run of several tasks. */
export const ONE_LOOP = 'one loop';

/** Returns the context that resumes the last run of several tasks, if a user who names no loop means that; else null. */
export function leftRun(context: CommandContext): CommandContext | null {
  const { files, projectDir, env } = context;
  if (files.name !== null) return null;
  const ends = loopNames(projectDir, env).flatMap((name) => {
    const last = lastLoopIn(loopFiles(projectDir, name, env));
    return last?.status === 'ended' && last.ended.as !== 'complete' ? last.ended.at : [];
  });
  const live = liveLoops(context).map(({ name }) => name);
  return isRunLeft(projectDir, env, live, ends.toSorted().at(-1) ?? null) ? context : null;
}

/**
 * Returns the same for a loop on one task of a plan, which by itself would work on the whole plan; null for any other loop.
 * Throws `refused` if that run is over.
 */
export function runOfPart(context: CommandContext, files: LoopFiles, state: LoopState): CommandContext | null {
  const part = partOfPlan(files, state.loopId);
  if (part === null) return null;
  requireRunOf(part, files, context.env);
  const projectDir = mainProjectOf(files.projectDir) ?? files.projectDir;
  const { loop: _, ...values } = context.values;
  return { ...context, projectDir, values, files: loopFiles(projectDir, null, context.env) };
}
