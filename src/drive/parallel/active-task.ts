import type { LoopProcess } from './loop-process.ts';
import type { PlanTurn } from './supervised.ts';

/** A task of a plan at work. */
export interface ActiveTask {
  readonly id: string;
  readonly process: LoopProcess;
  /** Counts as an agent at work: from its start until its work waits to be committed. */
  holdsSlot: boolean;
  /** Answers a run that waits for its turn, or for a slot for another agent run. */
  turn: ((turn: PlanTurn) => void) | null;
  permit: (() => void) | null;
}

export function slotsHeld(tasks: Iterable<ActiveTask>): number {
  return [...tasks].filter(({ holdsSlot }) => holdsSlot).length;
}
