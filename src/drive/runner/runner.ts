import type { AgentRun, StartAgent } from '../../claude/agent/agent-run.ts';
import type { UsageDelta } from '../../engine/events.ts';
import type { Tell } from '../../engine/runner-event.ts';
import { quarantine } from '../../state/archive.ts';
import { findContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { ReadState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { parseDuration } from '../../text/duration.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { StartedLoop } from '../start/start-loop.ts';
import { turnWork } from '../turn/run-turn-work.ts';
import { setBack, unagreed, unproved } from '../turn/tampering.ts';
import { heardContext, type Turn } from '../turn/turn.ts';
import { unaccounted } from './failed-run-usage.ts';
import type { Lease } from './lease.ts';
import { RUNNER_TEXTS } from './messages.ts';

export interface RunnerOptions {
  readonly startAgent: StartAgent;
  /** Of the user: checks and commands run in it. */
  readonly env: NodeJS.ProcessEnv;
  /** What the agent's environment has beside it. */
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly patience: Patience;
  readonly tell: Tell;
  /** Where somebody watches: the agent's words are told as they come, and keys act on the loop once this is called. */
  readonly live?: (controls: LiveControls) => void;
}

/** Why a runner leaves its loop before the engine has ended it. */
export type Leaving = 'signal' | 'lease-lost' | 'paused';

/** A runner at work: one loop, one agent at a time. */
export interface Runner {
  readonly files: LoopFiles;
  readonly loopId: string;
  readonly options: RunnerOptions;
  readonly lease: Lease;
  /** Aborted with the reason (Leaving) when the runner has to go. */
  readonly leave: AbortController;
  /** The iteration in progress, as the engine's other driver knows it too. */
  turn: Turn;
  agent: AgentRun | null;
  /** US dollars that this runner's agents have cost together; null while none has told. */
  spentUsd: number | null;
  /** Tokens of runs that came to nothing: they count with the next iteration. */
  wasted: UsageDelta | null;
  /** US dollars that these have cost. */
  wastedUsd: number | null;
  /** Rate limits in a row, none of which said until when. */
  limits: number;
  /** Consecutive runs that broke. */
  broken: number;
  /** Ends the wait before a run that broke is tried again; null while there is none. */
  tryNow: (() => void) | null;
  /** Epoch milliseconds: when Ctrl+C ended a wait. */
  wokenAt: number;
  /** What the agent at work was sent, by id: whether it has reached it. */
  readonly sent: Map<string, 'sent' | 'heard'>;
  /** What was told last of how the loop stands. */
  shown: { pending: string; next: 'stop' | 'pause' | 'go-on'; checklist: string };
  /** The user has asked the agent at work to end its turn. */
  interrupted: boolean;
}

export function newRunner({ files, loopId, stored, state }: StartedLoop, options: RunnerOptions, lease: Lease): Runner {
  const leave = new AbortController();
  const context = heardContext(files, options.env, '', '');
  const policy = stored.contract.policy;
  const before = unaccounted(files, state);
  const turn: Turn = {
    context,
    options: { timeoutMs: Number.POSITIVE_INFINITY, signal: leave.signal, work: turnWork },
    deadline: Number.POSITIVE_INFINITY,
    notes: [],
    loaded: { kind: 'loop', state, policy, stored, mended: null, orphaned: false },
    task: null,
    lease: { loopId, epoch: state.epoch },
  };
  return {
    files,
    loopId,
    options,
    lease,
    leave,
    turn,
    agent: null,
    spentUsd: before.costUsd,
    wasted: before.usage,
    wastedUsd: before.costUsd,
    limits: 0,
    broken: 0,
    tryNow: null,
    wokenAt: 0,
    sent: new Map(),
    shown: { pending: '', next: 'go-on', checklist: '' },
    interrupted: false,
  };
}

/** Tells how far the checklist has come, where that is news. */
export function tellChecklist({ shown, options }: Runner, checklist: ChecklistCount | null | undefined): void {
  if (!checklist || checklist.total === 0) return;
  const { done, total } = checklist;
  const counted = `${done} ${total}`;
  if (counted === shown.checklist) return;
  shown.checklist = counted;
  options.tell({ type: 'checklist', done, total });
}

/**
 * Puts a state that the agent rewrote, while it worked, back as this runner knows it; what was found is moved aside.
 * Gives what the user and the next prompt have to hear, or null. Whoever ends a loop drops its contract: a state that is
 * gone with it was ended, and is left so.
 */
export function mendState(runner: Runner): string | null {
  const { files, loopId, turn } = runner;
  const { state } = turn.loaded;
  const found = findContract(files);
  if (found === 'absent' || found === 'unreadable' || found.contract.loopId !== loopId) return null;
  const sound = (current: ReadState): boolean => {
    if (current.kind !== 'loop') return false;
    // A newer epoch is somebody else's, who took the loop over: the lease tells.
    if (current.state.epoch > state.epoch) return true;
    return !(unproved(current.state) || unagreed(current.state, found) || setBack(current.state, found, files));
  };
  return withState<string | null>(files, LOCK_WAIT, (current) => {
    if (sound(current)) return { next: 'keep', result: null };
    const moved = current.kind === 'absent' ? files.archiveDir : quarantine(files, turn.context.now(), 'tampered');
    return { next: state, result: RUNNER_TEXTS.restored(moved) };
  });
}

/** How long a runner waits for what, in milliseconds. */
export interface Patience {
  /** For a sign of life of an agent whose turn is not over. */
  readonly silenceMs: number;
  /** Before a run that broke is tried again, the first time. */
  readonly retryMs: number;
}

/**
 * RALPH_SILENCE (20m: a single command of the agent may be silent for long) and RALPH_RETRY_WAIT (5s). Throws RalphError
 * for a value that is no duration.
 */
export function patience(env: NodeJS.ProcessEnv): Patience {
  return {
    silenceMs: duration(env, 'RALPH_SILENCE', 20 * 60_000),
    retryMs: duration(env, 'RALPH_RETRY_WAIT', 5_000),
  };
}

function duration(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = env[name];
  if (!value) return otherwise;
  const milliseconds = parseDuration(value);
  if (milliseconds === null || milliseconds <= 0) throw new RalphError('usage', RUNNER_TEXTS.badDuration(name, value));
  return milliseconds;
}

/** How many times a run that broke is tried again, before the loop ends. */
export const MOST_RETRIES = 5;

/** The longest wait between two tries. */
const MOST_MS = 120_000;

/**
 * How long to wait before try `nth` (0 is the first): doubled each time, at most two minutes or the first wait where
 * that is longer, and of that half to all, as `random` in [0, 1) says, so that many loops do not come back at once.
 */
export function backOff(firstMs: number, nth: number, random: number): number {
  const whole = Math.min(firstMs * 2 ** nth, Math.max(firstMs, MOST_MS));
  return Math.round(whole * (0.5 + random / 2));
}
