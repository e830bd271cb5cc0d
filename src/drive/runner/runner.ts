import { statSync } from 'node:fs';
import { countersOf } from '../../engine/counters.ts';
import { type EventOf, tokens } from '../../engine/events.ts';
import { type Allowance, addRunUsage, exactCost, type RunUsage, type Spent } from '../../engine/policy/budget.ts';
import type { RunnerEventOf, Tell } from '../../engine/runner-event.ts';
import type { AgentRecord } from '../../engine/schema/records.ts';
import type { LoopState, UsageState } from '../../engine/schema/state.ts';
import { NO_FACTS } from '../../hosts/agent/agent-message.ts';
import type { AgentOptions, AgentRun, StartAgent } from '../../hosts/agent/agent-run.ts';
import { lastRecord } from '../../state/event-stream.ts';
import { findLiveContract, type LoopFiles, log, type ReadState } from '../../state/loop-files.ts';
import { isRewritten } from '../../state/restore-state.ts';
import { amendArchived, endedState, quarantine, type Lease as StateLease, withState } from '../../state/with-state.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import type { ChecklistCount } from '../../text/markdown/lists.ts';
import { RalphError } from '../../text/message.ts';
import type { StartedLoop } from '../start/stages.ts';
import { loadedUnder, newTurn, type PlanPart, type Turn, withTurnState } from '../turn/turn.ts';
import { durationIn } from '../turn/wait.ts';
import type { Lease } from './lease.ts';
import { RUNNER_TEXTS } from './messages.ts';

export interface RunnerOptions {
  readonly startAgent: StartAgent;
  /** Environment of the user, in which checks and commands run. */
  readonly env: NodeJS.ProcessEnv;
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly timeouts: RunnerTimeouts;
  readonly tell: Tell;
  /** Called before each agent run. Absent for a loop that shares nothing with others. */
  readonly askPermit?: AskPermit;
  /** Present for a loop on one task of a plan, beside loops on other tasks. */
  readonly part?: PlanPart;
  /** Present if the user watches in a terminal: the agent's text is streamed, and keys control the loop. */
  readonly live?: (controls: LiveControls) => void;
  /** True if the run exits with 3 when the loop completes unverified. */
  readonly requiresProof: boolean;
}

/** The shared budget is used up. */
export interface OverBudget extends Pick<EventOf<'shared-budget-reached'>, 'reading' | 'more'> {
  readonly kind: 'budget';
}

/** Answer to whether an agent run may start, for loops that share a budget and an account. */
export type Permit =
  /** `allowance`: what is left for all of them. */
  | { readonly kind: 'go'; readonly allowance?: Allowance }
  /** The account is at its rate limit until then (ISO-8601 UTC). */
  | { readonly kind: 'hold'; readonly until: string }
  | OverBudget
  /** The supervisor takes the loop elsewhere or has ended it: the runner exits, and the loop can be resumed. */
  | { readonly kind: 'leave' };

export type AskPermit = (spent: Spent) => Promise<Permit>;

/** Reason why a runner exits before the engine has ended the loop. */
export type Leaving = 'signal' | 'lease-lost' | 'paused';

export interface Runner {
  readonly files: LoopFiles;
  readonly loopId: string;
  /** First turn. Only its context, contract and lease are used later. */
  readonly begun: Turn;
  readonly options: RunnerOptions;
  readonly lease: Lease;
  /** Aborted with the reason (Leaving) when the runner has to exit. */
  readonly leave: AbortController;
  agent: AgentRun | null;
  /** Latest figures of the loop, and those at the end of the last iteration. */
  readonly spent: { total: UsageState; before: UsageState; durationMs: number };
  /** Consecutive rate limits without a reset time. */
  limits: number;
  failures: number;
  /** What parallel loops may still use together, as of the last permit; absent for a single loop. */
  shared: Allowance | undefined;
  /** Ends the wait before the next retry; null if there is none. */
  retryNow: (() => void) | null;
  /** Messages sent to the running agent, by id. */
  readonly sent: Map<string, 'sent' | 'acknowledged'>;
  /** Messages of the user in the journal since the runner began, and where to continue reading. */
  readonly journal: { next: number; readonly messages: { readonly id: string; readonly text: string }[] };
  /** State of the loop as last shown. */
  shown: {
    pending: RunnerEventOf<'steering.pending'>['texts'];
    next: 'stop' | 'pause' | 'go-on';
    checklist: string;
    lost: string;
  };
  /** Rules that would allow calls that the agent was denied, by call; and those that the user has allowed. */
  readonly offers: Map<string, string>;
  readonly allowed: Set<string>;
  /** True once the user has asked the running agent to end its turn. */
  interrupted: boolean;
}

export function newRunner({ files, loopId, stored, state }: StartedLoop, options: RunnerOptions, lease: Lease): Runner {
  const leave = new AbortController();
  const held: StateLease = { loopId, epoch: state.epoch, known: { counters: countersOf(state) } };
  return {
    files,
    loopId,
    options,
    lease,
    leave,
    begun: newTurn(
      { files, env: options.env, now, ...(options.part && { part: options.part }) },
      loadedUnder(stored, state),
      { signal: () => leave.signal, lease: held },
    ),
    agent: null,
    spent: { total: state.usage, before: state.usage, durationMs: 0 },
    limits: 0,
    failures: 0,
    shared: undefined,
    retryNow: null,
    sent: new Map(),
    journal: { next: statSync(files.events, { throwIfNoEntry: false })?.size ?? 0, messages: [] },
    offers: new Map(),
    allowed: new Set(),
    shown: { pending: [], next: 'go-on', checklist: '', lost: '' },
    interrupted: false,
  };
}

export function now(): string {
  return new Date().toISOString();
}

export function tellChecklist({ shown, options }: Runner, checklist: ChecklistCount | null | undefined): void {
  if (!checklist || checklist.total === 0) return;
  const { done, total } = checklist;
  const counted = `${done} ${total}`;
  if (counted === shown.checklist) return;
  shown.checklist = counted;
  options.tell({ type: 'agent.checklist', done, total });
}

/**
 * Restores a state that the agent rewrote, under the contract with which this process began if that is lost as well, and
 * moves the rewritten file aside. Returns a warning, or null. Skips ended loops.
 */
export function restoreRewrittenState({ files, loopId, spent }: Runner, { loaded }: Turn): string | null {
  const { state } = loaded;
  const found = findLiveContract(files, loopId) ?? (endedState(files, loopId) === null ? loaded.stored : null);
  if (found === null) return null;
  const isSound = (current: ReadState): boolean => {
    if (current.kind !== 'loop') return false;
    // A newer epoch belongs to a process that took over the loop; the lease detects that.
    return (
      current.state.epoch > state.epoch || !isRewritten(current.state, found, lastRecord(files, current.state.loopId))
    );
  };
  return withState<string | null>(files, (current) => {
    if (isSound(current)) return { next: 'keep', result: null };
    const moved = current.kind === 'absent' ? files.archiveDir : quarantine(files, now(), 'tampered');
    return { next: { ...state, usage: spent.total }, result: RUNNER_TEXTS.restored(moved) };
  });
}

interface RunnerTimeouts {
  readonly silenceMs: number;
  readonly retryMs: number;
}

/** Reads RALPH_SILENCE (20m) and RALPH_RETRY_WAIT (5s). Throws RalphError `usage` for an invalid duration. */
export function runnerTimeouts(env: NodeJS.ProcessEnv): RunnerTimeouts {
  return {
    silenceMs: durationIn(env, 'RALPH_SILENCE', 20 * 60_000),
    retryMs: durationIn(env, 'RALPH_RETRY_WAIT', 5_000),
  };
}

export const MOST_RETRIES = 5;

const MOST_MS = 120_000;

/** Returns the delay before retry `nth` (from 0): doubled up to two minutes, with jitter by `random` in [0, 1). */
export function backOff(firstMs: number, nth: number, random: number): number {
  const whole = Math.min(firstMs * 2 ** nth, Math.max(firstMs, MOST_MS));
  return Math.round(whole * (0.5 + random / 2));
}

type Used = Parameters<NonNullable<AgentOptions['onUsage']>>[0];
type Counts = NonNullable<Used['usage']>;

const NOTHING = tokens(() => 0);

/** Returns a function that adds an agent's usage while it runs. It returns the error if that could not be written. */
export function countUsage(runner: Runner, turn: Turn): (used: Used) => Error | null {
  let counted = { usage: NOTHING, costUsd: 0, unpriced: 0, windows: NO_FACTS.windows };
  return ({ usage, costUsd, windows }) => {
    if (usage === null) return null;
    const unpriced = costUsd === null ? 1 : 0;
    const part: RunUsage = {
      usage: minus(usage, counted.usage),
      costUsd: costUsd === null ? null : costUsd - counted.costUsd,
      unpriced: (unpriced - counted.unpriced) as RunUsage['unpriced'],
    };
    const isNews = part.unpriced !== 0 || part.costUsd || Object.values(part.usage).some((more) => more !== 0);
    if (!isNews && windows === counted.windows) return null;
    try {
      // The agent can rewrite the state, which is restored at the end of its turn.
      if (!add(runner, turn, part, windows)) return null;
    } catch (error) {
      // Another runner has taken over the loop.
      if (error instanceof RalphError && error.code === 'state-fenced') return null;
      log(runner.files, now(), 'runner', (error as Error).message);
      return error as Error;
    }
    counted = { usage, costUsd: costUsd ?? counted.costUsd, unpriced, windows };
    return null;
  };
}

function add({ files, loopId, spent }: Runner, turn: Turn, part: RunUsage, windows: Used['windows']): boolean {
  const withPart = (state: LoopState): LoopState => {
    spent.total = addRunUsage(state.usage, part);
    return { ...state, usage: spent.total, ...(windows.length > 0 && { limits: [...windows] }) };
  };
  return withTurnState<boolean>(turn, (current) => {
    if (current.kind === 'loop' && current.state.loopId === loopId)
      return { next: withPart(current.state), result: true };
    return { next: 'keep', result: amendArchived(files, loopId, withPart) };
  });
}

/** Returns the usage of the agents of an iteration, including failed runs, and begins the next one. null means unknown. */
export function takeIteration({ spent }: Runner): Pick<AgentRecord, 'usage' | 'costUsd' | 'durationMs'> {
  const { total, before, durationMs } = spent;
  spent.before = total;
  spent.durationMs = 0;
  if (total === before) return { usage: null, costUsd: null, durationMs };
  const priced = (total.unpricedRuns ?? 0) <= (before.unpricedRuns ?? 0) && total.costUsd !== null;
  const costUsd = priced ? exactCost((total.costUsd ?? 0) - (before.costUsd ?? 0)) : null;
  return { usage: minus(total, before), costUsd, durationMs };
}

function minus(one: Counts, other: Counts): Counts {
  return tokens((kind) => one[kind] - other[kind]);
}
