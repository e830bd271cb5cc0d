import type { LoopProcess } from './loop-process.ts';
import type { PlanTurn } from './supervised.ts';

/** Task of a plan that is being worked on. */
export interface ActiveTask {
  readonly id: string;
  readonly process: LoopProcess;
  /** Occupies a slot for agents: from its start until its work waits to be committed. */
  holdsSlot: boolean;
  /** Answers a run that waits for its turn, or for a free slot. */
  turn: ((turn: PlanTurn) => void) | null;
  permit: (() => void) | null;
}

export function slotsHeld(tasks: Iterable<ActiveTask>): number {
  return [...tasks].filter(({ holdsSlot }) => holdsSlot).length;
}
