import { initialState } from '../../../src/engine/initial-state.ts';
import type { Contract } from '../../../src/engine/schema/contract.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { type LoopFiles, loopFiles, type StoredContract } from '../../../src/state/loop-files.ts';
import { DEFAULT_POLICY, NO_GUARDRAILS } from '../contract-terms.ts';

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

/** A contract that is whole and has a long head, under its loop's name as its hash. */
export function aContract(loopId: string): StoredContract {
  const contract: Contract = {
    contractVersion: 1,
    loopId,
    name: null,
    projectDir: '/project',
    taskPath: '.claude/ralph/PROMPT.md',
    task: null,
    guardrails: NO_GUARDRAILS,
    createdAt: '2026-02-28T10:00:00Z',
    frontmatter: '',
    head: 'x'.repeat(2000),
    policy: DEFAULT_POLICY,
    validation: [],
    findingsLog: '.ralph/findings.md',
    scripts: {},
    evidence: {},
    consented: true,
    clientVersion: null,
    headless: false,
    flags: {},
    bundleDir: null,
  };
  return { hash: loopId, contract };
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
