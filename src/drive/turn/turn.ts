import type { Effect } from '../../engine/effects.ts';
import type { AssembledPrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { PlanPart } from '../plan/plan-part.ts';
import type { TaskTurn } from '../records/iteration-record.ts';

/** Abort reason: the client process has exited. */
export const CLIENT_GONE = 'client-exit';

export interface TurnContext {
  readonly files: LoopFiles;
  readonly env: NodeJS.ProcessEnv;
  /** ISO-8601 UTC. */
  readonly now: () => string;
  /** Present for a loop on one task of a plan, beside loops on other tasks. */
  readonly part?: PlanPart;
}

export interface Loaded {
  readonly state: LoopState;
  readonly policy: Policy;
  readonly stored: StoredContract | null;
  /** Warning for the user and the next prompt if the state had to be restored; else null. */
  readonly restored: string | null;
  /** The contract under which this loop was started is missing. */
  readonly orphaned: boolean;
}

export function loadedUnder(stored: StoredContract, state: LoopState, restored: string | null = null): Loaded {
  return { state, policy: stored.contract.policy, stored, restored, orphaned: false };
}

/** One iteration as its driver sees it, from the end of the agent's work to the next prompt. */
export interface Turn {
  readonly context: TurnContext;
  readonly loaded: Loaded;
  /** Transcript whose queued messages end a wait; null for a driver that is no session. */
  readonly transcriptPath: string | null;
  /** Epoch milliseconds by which the driver must have answered. */
  readonly deadline: number;
  /** Aborted when the driver has to exit, or its client has exited. */
  readonly signal: AbortSignal;
  /** What a task folder records of the iteration that ended; null for other tasks. */
  readonly task: TaskTurn | null;
  readonly lease: { readonly loopId: string; readonly epoch: number } | null;
  /** The next prompt goes to an agent that knows nothing of the previous iterations. */
  readonly freshContext: boolean;
  /** When aborted, the driver leaves the loop as it is for its next call; otherwise the loop is paused. */
  readonly keepsLoopOnAbort: boolean;
}

/** Returns a turn of a driver that starts each agent in a fresh context and may take any time. */
export function newTurn(context: TurnContext, loaded: Loaded, more: Partial<Turn> = {}): Turn {
  return {
    ...{ context, loaded, transcriptPath: null, deadline: Number.POSITIVE_INFINITY },
    ...{ signal: new AbortController().signal, task: null, lease: null, freshContext: true, keepsLoopOnAbort: false },
    ...more,
  };
}

export interface Dispatched {
  readonly turn: Turn;
  readonly effects: readonly Effect[];
}

export type Step = Extract<Effect, { type: 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore' }>;
export type PromptStep = Extract<Effect, { type: 'prompt' }>;

export function isStep(effect: Effect): effect is Step {
  return ['prompt', 'allow', 'wait', 'look', 'verify', 'ignore'].includes(effect.type);
}

/** The prompt of the next iteration, ready to be delivered. */
export interface Prompt {
  /** The step that asked for it, with the notices and the steering that it carries. */
  readonly step: PromptStep;
  readonly assembled: AssembledPrompt;
  /** File that holds the whole prompt, relative to the project; null if there is none. */
  readonly path: string | null;
  /** The task file holds the body of the prompt, so an agent can be pointed there. */
  readonly isTaskFile: boolean;
}
