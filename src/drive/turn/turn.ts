import type { Effect, EngineEvent } from '../../engine/events.ts';
import type { PlanAttempt } from '../../engine/plan/attempt.ts';
import type { AssembledPrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Transition, transition } from '../../engine/transition.ts';
import { recordNotice } from '../../state/event-stream.ts';
import { lossBy, readEvidence } from '../../state/evidence/evidence.ts';
import { findContract, type LoopFiles, type ReadState, type StoredContract } from '../../state/loop-files.ts';
import { type Change, endedState, type Lease, withState } from '../../state/with-state.ts';
import type { Message } from '../../text/message.ts';
import { usageNow } from '../records/client-figures.ts';
import type { TaskTurn } from '../records/iteration-record.ts';

/** Abort reason: the client process has exited. */
export const CLIENT_GONE = 'client-exit';
/** Abort reason: the client has forgotten the turn. The state is as after a hook that was killed. */
export const TURN_OVER = 'turn-over';

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
  /** Why the contract under which this loop was started cannot be trusted; null if it can, or if there is none. */
  readonly lost: Message | null;
}

export function loadedUnder(stored: StoredContract, state: LoopState, restored: string | null = null): Loaded {
  return { state, policy: stored.contract.policy, stored, restored, lost: null };
}

/** One iteration as its driver sees it, from the end of the agent's work to the next prompt. */
export interface Turn {
  readonly context: TurnContext;
  readonly loaded: Loaded;
  /** Transcript whose queued messages end a wait; null for a driver without a session. */
  readonly transcriptPath: string | null;
  /** Epoch milliseconds by which the driver must have answered. */
  readonly deadline: number;
  /** Aborted when the driver has to exit, or its client has exited. A Stop creates it only when it runs something or waits. */
  readonly signal: () => AbortSignal;
  /** Facts for the task folder about the iteration that ended; null for other tasks. */
  readonly task: TaskTurn | null;
  readonly lease: Lease | null;
  /** True if the next prompt goes to an agent that does not know the previous iterations. */
  readonly freshContext: boolean;
  /** On an abort, the driver leaves the loop for its next call; otherwise the loop is paused. */
  readonly keepsLoopOnAbort: boolean;
}

/** Returns a turn of a driver that starts each agent in a fresh context and has no deadline. */
export function newTurn(context: TurnContext, loaded: Loaded, more: Partial<Turn> = {}): Turn {
  return {
    context,
    loaded,
    transcriptPath: null,
    deadline: Number.POSITIVE_INFINITY,
    signal: () => new AbortController().signal,
    task: null,
    lease: null,
    freshContext: true,
    keepsLoopOnAbort: false,
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
  /** Step that requested it, with its notices and steering. */
  readonly step: PromptStep;
  readonly assembled: AssembledPrompt;
  /** File that holds the whole prompt, relative to the project; null if there is none. */
  readonly path: string | null;
  /** True if the body of the prompt is in the task file, so that an agent can be pointed there. */
  readonly isTaskFile: boolean;
}

/** Dispatches an event to the engine, under the lock, for this loop and the driver's epoch only. */
export function dispatch(turn: Turn, event: EngineEvent): Dispatched {
  const { loaded, context } = turn;
  return withTurnState<Dispatched>(turn, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId)
      return { next: 'keep', result: { turn, effects: [loopOver(turn)] } };
    const { policy, ...now } = underContract(loaded, current.state, context.files);
    const noted = announceWentBack(current, event.at, policy);
    const { state: after, effects } = transition(noted.state, event, policy);
    // While checks ran, the client may have reported the cost of the agent's last answer.
    const state = after.status === 'ended' ? { ...after, usage: usageNow(context.files, after) } : after;
    const result = { turn: { ...turn, loaded: { ...now, policy, state } }, effects: [...noted.effects, ...effects] };
    return { next: state, result };
  });
}

/** Tells the user and the next prompt if the state on disk had been replaced by an older one. */
export function announceWentBack(
  { state, wentBack }: Extract<ReadState, { readonly kind: 'loop' }>,
  at: string,
  policy: Policy,
): Transition {
  if (wentBack === undefined) return { state, effects: [] };
  return transition(state, { type: 'noticed', at, key: wentBack, warning: wentBack }, policy);
}

/** Announces a restored state before anything is decided. */
export function announceRestored(turn: Turn): Dispatched {
  const { restored } = turn.loaded;
  if (restored === null) return { turn, effects: [] };
  const at = turn.context.now();
  const { turn: after, effects } = dispatch(turn, { type: 'noticed', at, key: `restored ${at}`, warning: restored });
  return { turn: { ...after, loaded: { ...after.loaded, restored: null } }, effects };
}

/**
 * Returns the loop with the contract that its state names: the user may have accepted another since it was loaded. A
 * contract that cannot be trusted changes nothing and is named as lost.
 */
function underContract(loaded: Loaded, state: LoopState, files: LoopFiles): Loaded {
  const { stored, restored } = loaded;
  const found = stored === null || stored.hash === state.contractHash ? stored : findContract(files);
  const isAdopted = typeof found === 'object' && found?.hash === state.contractHash;
  if (found === stored || !isAdopted || found.contract.loopId !== state.loopId) return { ...loaded, state };
  const lost = lossBy(() => readEvidence(files, found.contract, 'contract'));
  return lost === null ? loadedUnder(found, state, restored) : { ...loaded, state, lost };
}

/** Returns the loop of a turn as it is on disk, whatever was written into its state; null if another has replaced it. */
export function sameLoop({ loaded, context }: Turn, current: ReadState): Loaded | null {
  if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) return null;
  const standing = underContract(loaded, current.state, context.files);
  return { ...standing, restored: standing.restored ?? current.wentBack ?? null };
}

/** Pauses a loop because its evidence is lost, which every report names. An ended loop has moved its evidence aside. */
export function pauseForLoss(turn: Turn, message: Message): Dispatched {
  const { files, now } = turn.context;
  const { state } = turn.loaded;
  if (endedState(files, state.loopId) !== null) return { turn, effects: [loopOver(turn)] };
  recordNotice(files, state, { at: now(), kind: 'evidence', text: message.text, key: message.text });
  return dispatch(turn, { type: 'suspended', at: now(), reason: 'evidence-lost', message });
}

/** Changes the state of a turn's loop, unless another process has taken over the loop. */
export function withTurnState<T>({ context, lease }: Turn, decide: (current: ReadState) => Change<T>): T {
  return withState(context.files, decide, { lease });
}

function loopOver({ context, loaded }: Turn): Effect {
  return { type: 'allow', message: endedState(context.files, loaded.state.loopId)?.ended.message ?? null };
}

export function handleAbort(turn: Turn): Dispatched {
  const { reason } = turn.signal();
  if (turn.keepsLoopOnAbort || reason === TURN_OVER) return { turn, effects: [] };
  const by = reason === CLIENT_GONE ? 'client-exit' : 'signal';
  return dispatch(turn, { type: 'interrupted', at: turn.context.now(), by });
}

/** Starts a turn in a fresh context and requeues messages that the previous agent never answered. */
export function startFreshTurn(turn: Turn): Dispatched {
  const requeued = dispatch(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'given-up' });
  const first = dispatch(requeued.turn, { type: 'first-prompt', at: turn.context.now() });
  const { inFlight } = first.turn.loaded.state;
  if (first.effects.length > 0 || inFlight === null) return first;
  return { turn: first.turn, effects: [{ type: 'prompt', ...inFlight }] };
}

/** Result of a driver's own part: effects to run, or the answer that ends the call. */
export type Next<Answer> = Dispatched | { readonly answer: Answer };

/** The part of a turn in which hook, runner and router differ. */
export interface Driver<Answer> {
  /** Delivers the prompt: a hook answers with it, a runner runs an agent to its end, a router answers with a spawn. */
  readonly deliver: (turn: Turn, prompt: Prompt) => Promise<Next<Answer>>;
  readonly wait: (turn: Turn, until: string) => Promise<Next<Answer>>;
  /** Called when the engine has no further step for the agent. `step` is undefined if it returned none. */
  readonly release: (
    turn: Turn,
    step: Extract<Effect, { type: 'allow' | 'ignore' }> | undefined,
  ) => Promise<Next<Answer>>;
  readonly notify: (turn: Turn, message: string) => void;
  readonly tell: (turn: Turn, event: RunnerEvent) => void;
  /** Answers after the driver was told to exit. Absent in a hook, whose loop the engine pauses. */
  readonly leave?: (turn: Turn) => Answer;
}

/** Facts about the rest of the plan for a loop that works on one task. */
export interface PlanTerms {
  /** Id of its task, as written in the plan. */
  readonly task: string;
  /** The main project, absolute, with the plan's branch checked out. */
  readonly mainDir: string;
  readonly branch: string;
  /** Number of tasks done in this session when the loop began. */
  readonly done: number;
  /** Keys of the tasks that the user had marked (no-change) when the session began; an agent may edit the plan later. */
  readonly noChange: readonly string[];
  /** Results of the last verification before its task; absent if unknown. */
  readonly baseline?: Baseline;
  /** Files that the checks wrote before the start. */
  readonly written?: readonly string[];
}

/** A loop on one task of a plan, in a worktree with copies of the main project's plan and progress file. */
export interface PlanPart extends PlanTerms {
  /**
   * Waits until every task before this one has ended. Resolves with the ids of the tasks done in this session; no other task
   * is committed until `endTurn` or the end of the loop. Rejects with the abort reason, or with RalphError `refused` if the
   * turn can never come.
   */
  readonly takeTurn: (signal: AbortSignal) => Promise<readonly string[]>;
  /** `work` is null for a task that is not done. */
  readonly endTurn: (work: NonNullable<PlanAttempt['work']> | null) => void;
}
