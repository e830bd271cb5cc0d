import type { EndReport } from '../../engine/end-report.ts';
import type { Tell } from '../../engine/runner-event.ts';
import type { TerminalStatus } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Turn } from '../turn/turn.ts';

export interface RouterOptions {
  /** Environment of the host, in which checks and commands run. */
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => string;
  /** The program as words for the host’s shell. */
  readonly program: string;
  readonly options: string;
  /** Epoch milliseconds until which this call may wait; the host waits longer. */
  readonly sitUntil: number;
  /** Aborted when the call has to end, or its client has exited. The loop is left as it is. */
  readonly signal: AbortSignal;
  readonly tell: Tell;
}

export interface Router {
  readonly files: LoopFiles;
  readonly options: RouterOptions;
  readonly turn: Turn;
  readonly notes: string[];
}

/** Thrown when this process has to exit before there is an answer. */
export class RouterLeft extends Error {}

export type WaitReason = 'idle' | 'pace' | 'paused' | 'awaiting-consent' | 'working' | 'retry';

interface About {
  readonly loopId: string | null;
  /** Name of the loop; null for the project's default loop. */
  readonly loop: string | null;
  readonly notes: readonly string[];
  /** Instructions for the host, with the exact command to call. */
  readonly next: string;
}

/** Work for a subagent. The same spawn is answered until it is reported. */
export interface SpawnAnswer extends About {
  readonly action: 'spawn';
  /** Number of the spawn within the loop, which `report` names. */
  readonly spawn: number;
  /** Iteration that it begins, from 1. An idle one does not count, so the next can have the same number. */
  readonly iteration: number;
  readonly maxIterations: number;
  readonly agentType: string;
  readonly description: string;
  /** Globs of files that the work may change, relative to the project; null if the task names none. */
  readonly allowedScope: readonly string[] | null;
  /** Time limit of the iteration in seconds; null if it has none. */
  readonly timeoutSeconds: number | null;
  /** File that holds the prompt, relative to the project; null if it could not be written. */
  readonly promptFile: string | null;
  readonly prompt: string;
}

export interface WaitAnswer extends About {
  readonly action: 'wait';
  readonly why: WaitReason;
  /** ISO-8601 instant in UTC at which the wait ends; null if time does not end it. */
  readonly until: string | null;
  /** Seconds from now to `until`, rounded up; null as above. */
  readonly seconds: number | null;
  /** Milliseconds from now to `until`; null without one. */
  readonly delayMs: number | null;
  readonly message: string;
  readonly commands?: readonly string[];
}

/** The loop has ended, or is not held by this host. */
export interface StopAnswer extends About {
  readonly action: 'stop';
  /** End of the loop. `busy`: another session drives it. `none`: there is no loop. */
  readonly status: TerminalStatus | 'busy' | 'none';
  readonly message: string;
  /** true only if checks ran and all of them passed. */
  readonly verified: boolean;
  readonly exitCode: number;
  /** Absent for a loop that has not ended. */
  readonly report?: EndReport;
  readonly holder?: { readonly sessionId: string | null; readonly pid: number | null };
}

export type RouterAnswer = SpawnAnswer | WaitAnswer | StopAnswer;
