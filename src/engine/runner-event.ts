import type { EndReport } from './end-report.ts';
import type { UsageDelta } from './events.ts';
import type { PauseReason, Steering, TerminalStatus } from './schema/state.ts';

export type WaitReason = 'idle' | 'pace' | 'rate-limit' | 'retry';

/** Events that a runner emits, in order. Each is plain data: `--json` prints it as it is. */
export type RunnerEvent =
  | {
      readonly type: 'loop-started';
      readonly loopId: string;
      readonly name: string | null;
      readonly taskPath: string;
      /** How the loop stands: one that is resumed has a past. */
      readonly iteration: number;
      readonly maxIterations: number;
      readonly startedAt: string;
      readonly costUsd: number | null;
      readonly usage: UsageDelta;
    }
  | {
      readonly type: 'iteration-started';
      readonly iteration: number;
      readonly maxIterations: number;
      /** Task of a plan that the agent works on; absent for every other loop. */
      readonly task?: string;
    }
  | { readonly type: 'command-started'; readonly name: string }
  | { readonly type: 'command-ran'; readonly name: string; readonly outcome: string; readonly durationMs: number }
  /** The agent's words as they arrive; emitted for the live view only. */
  | { readonly type: 'text-delta'; readonly text: string }
  /** The agent's words, whole. `streamed`: they were told before, piece by piece. */
  | { readonly type: 'text'; readonly text: string; readonly streamed?: boolean }
  | {
      readonly type: 'tool-started';
      readonly id: string;
      readonly tool: string;
      readonly about: string;
      readonly nested: boolean;
    }
  | {
      readonly type: 'tool-call';
      readonly id: string;
      readonly tool: string;
      /** What it is about, in one line: the command, the file, the pattern. */
      readonly about: string;
      readonly outcome: 'ok' | 'failed' | 'denied';
      readonly nested: boolean;
      readonly durationMs: number;
      /** Only of a denied call: why, and the option of the client that would allow it, if one does. */
      readonly reason?: string;
      readonly allow?: string;
    }
  /** What the run in progress has used so far; `window` is what its context can hold, null where that is not known. */
  | {
      readonly type: 'usage';
      readonly tokens: number;
      readonly context: number;
      readonly window: number | null;
    }
  | { readonly type: 'checklist'; readonly done: number; readonly total: number }
  /** What the user has said and no agent has heard yet, oldest first. */
  | { readonly type: 'pending'; readonly texts: readonly Pick<Steering, 'id' | 'text' | 'delivery'>[] }
  | { readonly type: 'steered'; readonly texts: readonly string[] }
  | { readonly type: 'interrupting' }
  /** A stop or pause at the end of the iteration was requested or withdrawn. */
  | { readonly type: 'after-iteration'; readonly next: 'stop' | 'pause' | 'go-on' }
  | { readonly type: 'paused'; readonly reason: PauseReason }
  | { readonly type: 'notice'; readonly message: string }
  | {
      readonly type: 'agent-ended';
      readonly iteration: number;
      /** What the run was: `ok`, or what kept it from being. */
      readonly outcome: string;
      readonly message: string;
      readonly durationMs: number;
      /** null, as all that follows, where the agent does not tell. */
      readonly turns: number | null;
      readonly toolCalls: number | null;
      readonly model: string | null;
      readonly costUsd: number | null;
      readonly usage: UsageDelta | null;
      /** Until when the account has used the share of its limit at which its loops wait. */
      readonly heldUntil?: string;
    }
  | { readonly type: 'waiting'; readonly why: WaitReason; readonly until: string }
  | { readonly type: 'verifying' }
  | {
      readonly type: 'loop-ended';
      readonly status: TerminalStatus | 'paused';
      readonly message: string;
      /** The message without its advice, if it differs. */
      readonly text?: string;
      readonly code: number;
      readonly iterations: number | null;
      readonly costUsd: number | null;
      readonly report?: EndReport;
    };

export type Tell = (event: RunnerEvent) => void;
