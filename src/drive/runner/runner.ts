import type { AgentRun, StartAgent } from '../../claude/stream/agent-run.ts';
import type { UsageDelta } from '../../core/events.ts';
import type { Tell } from '../../core/runner-event.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { heardContext } from '../fresh-turn.ts';
import type { StartedLoop } from '../start-loop.ts';
import { turnWork } from '../turn/run-turn-work.ts';
import type { Turn } from '../turn/turn.ts';
import type { Lease } from './lease.ts';
import type { Patience } from './patience.ts';
import { unaccounted } from './unaccounted.ts';

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
