import type { EndReport } from './end-report.ts';
import type { UsageDelta } from './events.ts';
import type { PauseReason, Steering, TerminalStatus } from './schema/state.ts';

export type WaitReason = 'idle' | 'pace' | 'rate-limit' | 'retry';

/** Events that a runner emits, in order. All are plain data, which `--json` prints unchanged. */
export type RunnerEvent =
  | {
      readonly type: 'loop-started';
      readonly loopId: string;
      readonly name: string | null;
      readonly taskPath: string;
      /** Finished iterations: a resumed loop has some. */
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
  /** The agent's text as it arrives; emitted only for the live view. */
  | { readonly type: 'text-delta'; readonly text: string }
  /** A complete text of the agent. `streamed`: it was already emitted in parts. */
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
      /** Subject of the call, in one line: the command, the file, the pattern. */
      readonly about: string;
      readonly outcome: 'ok' | 'failed' | 'denied';
      readonly nested: boolean;
      readonly durationMs: number;
      /** For a denied call: the reason, and the client's option that would allow it, if there is one. */
      readonly reason?: string;
      readonly allow?: string;
    }
  /** Usage of the run in progress; `window` is the size of its context, null if unknown. */
  | {
      readonly type: 'usage';
      readonly tokens: number;
      readonly context: number;
      readonly window: number | null;
    }
  | { readonly type: 'checklist'; readonly done: number; readonly total: number }
  /** Messages of the user that no agent has received yet, oldest first. */
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
      /** `ok`, or what went wrong in the run. */
      readonly outcome: string;
      readonly message: string;
      readonly durationMs: number;
      /** This and all that follow are null if the agent does not report them. */
      readonly turns: number | null;
      readonly toolCalls: number | null;
      readonly model: string | null;
      readonly costUsd: number | null;
      readonly usage: UsageDelta | null;
      /** End of the pause of all loops whose account has used its share of the limit. */
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
