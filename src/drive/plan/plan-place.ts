import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { Effect } from '../../engine/effects.ts';
import type { EngineEvent } from '../../engine/events.ts';
import { planOf } from '../../engine/plan/attempt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { PlanState } from '../../engine/schema/plan.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { progressPath } from '../../task/task-file.ts';

/** What every step of a plan works with, whatever drives the loop. */
export interface PlanPlace {
  readonly files: LoopFiles;
  readonly contract: Contract;
  /** As it was saved last. */
  readonly state: () => LoopState;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: () => string;
  /** Dispatches an event to the engine, under the lock. */
  readonly dispatch: (event: EngineEvent) => readonly Effect[];
}

export function planIn({ state }: Pick<PlanPlace, 'state'>): PlanState {
  return planOf(state());
}

/** The progress file, relative to the project. */
export function progressOf({ contract }: Pick<PlanPlace, 'contract'>): string {
  return progressPath(contract.taskPath);
}

/**
 * The plan and its progress file by the names that git may have for them, relative to the project: as they are called,
 * and where they lie behind links within it. Those that are not there are among them, too.
 */
export function ownPaths(projectDir: string, planPath: string): string[] {
  const own = [planPath, progressPath(planPath)];
  const root = real(projectDir);
  const behind = own.flatMap((path) => {
    const folder = real(join(projectDir, dirname(path)));
    return [folder === null ? null : join(folder, basename(path)), real(join(projectDir, path))];
  });
  const named = behind.flatMap((path) => {
    const from = path === null || root === null ? '..' : relative(root, path).split('\\').join('/');
    return from.startsWith('..') ? [] : [from];
  });
  return [...new Set([...own, ...named])];
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // what is not there lies nowhere else
  }
}

/** What a symbolic link names, as it was written; null where no link lies. */
export function linkText(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // no link, or nothing
  }
}
