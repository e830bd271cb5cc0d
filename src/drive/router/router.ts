import type { Tell } from '../../engine/runner-event.ts';
import type { TerminalStatus } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Turn } from '../turn/turn.ts';
import { inRouter } from './messages.ts';

export interface RouterOptions {
  /** Of the host: checks and commands run in it. */
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => string;
  /** How the host calls this program, as words for its shell. */
  readonly program: string;
  /** What such a call has at its end so that it means this loop. */
  readonly options: string;
  /** Epoch milliseconds until which a wait is sat out here; one that lasts longer is the host's. */
  readonly sitUntil: number;
  /** Aborted when the caller is told to go, or its client is gone: the loop is left as it stands. */
  readonly signal: AbortSignal;
  /** Hears of commands and checks while they run. */
  readonly tell: Tell;
}

/** One call of the host, on a loop that it holds. */
export interface Router {
  readonly files: LoopFiles;
  readonly options: RouterOptions;
  readonly turn: Turn;
  /** Messages for the user beside the answer. */
  readonly notes: string[];
}

/** Messages for the user beside the answer, with the commands that mean this loop. */
export function notesOf({ files, notes }: Router): string[] {
  return notes.map((note) => inRouter(note, files.name));
}

/** This process was told to go before there was an answer. */
export class RouterLeft extends Error {}

/** Why a router's host has to wait. `working`: another call of the same host is still at it. */
export type WaitReason = 'idle' | 'pace' | 'paused' | 'awaiting-consent' | 'working';

interface About {
  readonly loopId: string | null;
  /** null for the project's default loop. */
  readonly loop: string | null;
  /** What the user should hear besides. */
  readonly notes: readonly string[];
  /** What the host does with this answer, with the command to call, word for word. */
  readonly next: string;
}

/** Have a subagent work on this. Asked for again, it is the same one until it was reported. */
export interface SpawnAnswer extends About {
  readonly action: 'spawn';
  /** Tells this piece of work from every other of the loop; `report` names it. */
  readonly spawn: number;
  /** The iteration that it begins, counted from 1. An idle one does not count, so the next can have the same number. */
  readonly iteration: number;
  readonly maxIterations: number;
  readonly agentType: string;
  /** Three words for the client's display. */
  readonly description: string;
  /** Globs that the work may change, relative to the project; null where the task names none. */
  readonly allowedScope: readonly string[] | null;
  /** Seconds that the iteration may take; null where only the loop's own limits count. */
  readonly timeoutSeconds: number | null;
  /** The file that holds the prompt, relative to the project, for a host that would have to copy a long one. */
  readonly promptFile: string | null;
  readonly prompt: string;
}

/** Nothing to do now. */
export interface WaitAnswer extends About {
  readonly action: 'wait';
  readonly why: WaitReason;
  /** An ISO-8601 instant in UTC; null where it is not time that ends the wait. */
  readonly until: string | null;
  /** Seconds from now to `until`, rounded up; null as above. */
  readonly seconds: number | null;
  readonly message: string;
  /** What would run, for the user to agree to; only while consent is awaited. */
  readonly commands?: readonly string[];
}

/** The loop is over, or is not this host's. */
export interface StopAnswer extends About {
  readonly action: 'stop';
  /** How the loop ended. `busy`: somebody else drives it. `none`: there is none. */
  readonly status: TerminalStatus | 'busy' | 'none';
  readonly message: string;
  /** true only when checks ran and all of them passed. */
  readonly verified: boolean;
  /** The exit code of a loop that ended so. */
  readonly exitCode: number;
  /** Who drives a busy loop. */
  readonly holder?: { readonly sessionId: string | null; readonly pid: number | null };
}

export type RouterAnswer = SpawnAnswer | WaitAnswer | StopAnswer;
