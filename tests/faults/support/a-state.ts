import { initialState } from '../../../src/core/initial-state.ts';
import type { LoopState } from '../../../src/core/schema/state.ts';
import { type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';

export function filesIn(directory: string): LoopFiles {
  return loopFiles(directory, null, { XDG_STATE_HOME: `${directory}/outside` });
}

export function aState(loopId = 'loop-1'): LoopState {
  return initialState({
    loopId,
    name: null,
    mode: 'hook',
    taskPath: '.claude/ralph/PROMPT.md',
    contractHash: null,
    maxIterations: 25,
    at: '2026-02-28T10:00:00Z',
    consented: true,
  });
}

/** How often each process counted itself in the state. `iteration` is the sum. */
export type Tally = Readonly<Record<string, number>>;

export function tallyOf(state: LoopState): Tally {
  return state.marks.subagentBytes;
}

/** One more update by `who`. */
export function counted(state: LoopState, who: string): LoopState {
  const tally = { ...tallyOf(state), [who]: (tallyOf(state)[who] ?? 0) + 1 };
  return { ...state, iteration: state.iteration + 1, marks: { ...state.marks, subagentBytes: tally } };
}
