import type { Effect } from '../../core/effects.ts';
import type { EngineEvent } from '../../core/events.ts';
import { planOf } from '../../core/plan-attempt.ts';
import type { Contract } from '../../core/schema/contract.ts';
import type { PlanState } from '../../core/schema/plan-state.ts';
import type { LoopState } from '../../core/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { progressPath } from '../../task/plan/progress-path.ts';

/** What every step of a plan works with, whatever drives the loop. */
export interface PlanPlace {
  readonly files: LoopFiles;
  readonly contract: Contract;
  /** As it was saved last. */
  readonly state: () => LoopState;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: () => string;
  /** Tells the engine, under the lock; gives what follows. */
  readonly feed: (event: EngineEvent) => readonly Effect[];
}

export function planIn({ state }: Pick<PlanPlace, 'state'>): PlanState {
  return planOf(state());
}

/** The progress file, relative to the project. */
export function progressOf({ contract }: Pick<PlanPlace, 'contract'>): string {
  return progressPath(contract.taskPath);
}
