import type { RunnerEvent, WaitReason } from '../../core/runner-event.ts';
import type { Span } from './row.ts';

/** A line that is to be printed above the live rows, once: it belongs to the scroll-back from then on. */
export interface Line {
  readonly spans: readonly Span[];
  /** What is too long is broken into rows, or cut. */
  readonly long: 'wrap' | 'cut';
}

export const BLANK: Line = { spans: [], long: 'cut' };

/** A tool call whose outcome is not known yet. */
export interface OpenCall {
  readonly id: string;
  readonly label: string;
  readonly nested: boolean;
  /** Epoch milliseconds. */
  readonly since: number;
}

type Told<T extends RunnerEvent['type']> = Extract<RunnerEvent, { type: T }>;

/** All that the live view knows of a loop. Plain data: the same events give the same view. */
export interface View {
  /** Not printed yet. */
  readonly lines: readonly Line[];
  /** The agent's paragraph in progress, as far as it is not printed. */
  readonly text: string;
  /** A blank line belongs before the agent's next words. */
  readonly gap: boolean;
  /** What was printed last: text and calls are set apart by a blank line. */
  readonly last: 'blank' | 'text' | 'call' | 'other';
  readonly name: string;
  readonly status: 'starting' | 'running' | 'verifying' | 'paused' | 'ended';
  /** What comes when the iteration is over. */
  readonly next: Told<'after-iteration'>['next'];
  readonly interrupting: boolean;
  readonly iteration: number;
  readonly maxIterations: number | null;
  /** Epoch milliseconds; null before the loop has begun. */
  readonly startedAt: number | null;
  /** US dollars of the whole loop; null where nobody has told. */
  readonly costUsd: number | null;
  /** Of the whole loop, as far as runs have ended. */
  readonly tokens: number;
  /** Of the run in progress. */
  readonly runTokens: number;
  /** Tokens that the agent has in view, and the most that it can have, where that is known. */
  readonly context: number | null;
  readonly window: number | null;
  readonly checklist: { readonly done: number; readonly total: number } | null;
  readonly calls: readonly OpenCall[];
  readonly pending: Told<'pending'>['texts'];
  readonly waiting: { readonly why: WaitReason; readonly until: number } | null;
  readonly paused: { readonly why: string } | null;
}

export const NEW_VIEW: View = {
  lines: [],
  text: '',
  gap: false,
  last: 'blank',
  name: '',
  status: 'starting',
  next: 'go-on',
  interrupting: false,
  iteration: 0,
  maxIterations: null,
  startedAt: null,
  costUsd: null,
  tokens: 0,
  runTokens: 0,
  context: null,
  window: null,
  checklist: null,
  calls: [],
  pending: [],
  waiting: null,
  paused: null,
};
