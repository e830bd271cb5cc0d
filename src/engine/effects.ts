import type { IterationRecord, LoopEvent } from './schema/records.ts';
import type { Notices, Steering, TerminalStatus } from './schema/state.ts';

/** A lesson that the engine itself writes into guardrails.md. */
export interface Sign {
  readonly name: string;
  readonly trigger: string;
  readonly instruction: string;
  readonly addedAfter: string;
}

/** What a prompt tells before the task itself. */
export interface Told {
  readonly notices: Notices;
  readonly steering: readonly Steering[];
}

/** What the driver has to carry out. A driver holds no rule of its own. */
export type Effect =
  /** Send the task back, with these notices and this steering before it. */
  | ({ readonly type: 'prompt' } & Told)
  /** Let the turn end. `message` is for the user. */
  | { readonly type: 'allow'; readonly message: string | null }
  /** Wait until then, looking out for what ends a wait early, then report `time-passed`. */
  | { readonly type: 'wait'; readonly until: string }
  /** Look whether what is watched has changed, then report `time-passed` with `changed` or `quiet`. */
  | { readonly type: 'look' }
  | { readonly type: 'verify' }
  | { readonly type: 'record-iteration'; readonly record: IterationRecord }
  | { readonly type: 'record-event'; readonly event: LoopEvent }
  | { readonly type: 'add-sign'; readonly sign: Sign }
  /** Move the state, whole, into the archive. `message` says for later loops how this one ended, without commands for the user. */
  | { readonly type: 'archive'; readonly as: TerminalStatus; readonly message: string }
  | { readonly type: 'notify'; readonly message: string }
  /** The same delivery again: print nothing, change nothing. */
  | { readonly type: 'ignore' };
