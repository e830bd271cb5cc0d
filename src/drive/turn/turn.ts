import type { Effect } from '../../engine/effects.ts';
import type { EngineEvent } from '../../engine/events.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { TaskTurn } from '../records/iteration-record.ts';
import { endedLoop } from '../status/ended-loop.ts';
import type { DriverContext } from './driver-context.ts';
import type { TurnWork } from './turn-work.ts';

/** Why a driver was told to go by nobody: the client that it works for is gone. */
export const CLIENT_GONE = 'client-exit';

export interface TurnOptions {
  /** How long a driver may take, in milliseconds: for a hook the timeout it is registered with, as it cannot ask the client. */
  readonly timeoutMs: number;
  /** Aborted when the client tells the hook to go, or is gone. */
  readonly signal: AbortSignal;
  readonly work: TurnWork;
}

export interface Loaded {
  readonly kind: 'loop';
  readonly state: LoopState;
  readonly policy: Policy;
  readonly stored: StoredContract | null;
  /** Said to the user and to the next prompt when the state had to be mended. */
  readonly mended: string | null;
  /** The contract this loop was started under is gone. */
  readonly orphaned: boolean;
}

export interface Turn {
  readonly context: DriverContext;
  readonly options: TurnOptions;
  readonly deadline: number;
  /** What the user should read beside the decision. */
  readonly notes: string[];
  loaded: Loaded;
  /** What a task folder's loop learns beside. */
  readonly task?: TaskTurn | null;
  /** Under which a runner works; a hook has none. */
  readonly lease?: { readonly loopId: string; readonly epoch: number };
  /** Told to go, the driver leaves the loop as it stands, for its next call; a hook's loop is paused. */
  readonly leaves?: true;
}

export type Step = Extract<Effect, { type: 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore' }>;

export function isStep(effect: Effect): effect is Step {
  return ['prompt', 'allow', 'wait', 'look', 'verify', 'ignore'].includes(effect.type);
}

/** Tells the engine what came of an effect, under the lock and only while the loop is still this one. */
export function feed(turn: Turn, event: EngineEvent): readonly Effect[] {
  const { loaded, context, lease } = turn;
  return withState(context.files, { ...LOCK_WAIT, ...(lease && { lease }) }, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) {
      const message = endedLoop(context.files, loaded.state.loopId)?.message ?? null;
      return { next: 'keep' as const, result: [{ type: 'allow', message }] as const };
    }
    const next = transition(current.state, event, loaded.policy);
    turn.loaded = { ...loaded, state: next.state };
    return { next: next.state, result: next.effects };
  });
}

/** The client told the hook to go, or is gone itself. */
export function toldToGo(turn: Turn): readonly Effect[] {
  if (turn.leaves) return [];
  const by = turn.options.signal.reason === CLIENT_GONE ? 'client-exit' : 'signal';
  return feed(turn, { type: 'interrupted', at: turn.context.now(), by });
}

/** What a hook would be told at the end of a turn, for a driver that heard the agent itself: the same code decides. */
export function heardContext(
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  sessionId: string,
  lastMessage: string,
): DriverContext {
  return {
    input: {
      event: 'Stop',
      sessionId,
      transcriptPath: null,
      cwd: files.projectDir,
      promptId: null,
      lastMessage,
      backgroundTasks: [],
      source: null,
      prompt: null,
      raw: {},
    },
    env,
    files,
    now: () => new Date().toISOString(),
  };
}

/** A prompt for a context that knows nothing: what an earlier one was told and could not answer is told again. */
export function beginAnew(turn: Turn): readonly Effect[] {
  feed(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'given-up' });
  const effects = feed(turn, { type: 'first-prompt', at: turn.context.now() });
  const told = turn.loaded.state.handedOver;
  return effects.length > 0 || told === null ? effects : [{ type: 'prompt', ...told }];
}
