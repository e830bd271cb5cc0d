import type { Tell } from '../../core/runner-event.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Turn } from '../turn/turn.ts';
import { inRouter } from './texts.ts';

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
  /** The iteration in progress, as the engine's other drivers know it too. */
  turn: Turn;
}

/** What the user should hear beside the answer. */
export function notesOf({ files, turn }: Router): string[] {
  return turn.notes.map((note) => inRouter(note, files.name));
}

/** This process was told to go before there was an answer. */
export class RouterLeft extends Error {}
