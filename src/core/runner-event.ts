import type { UsageDelta } from './events.ts';
import type { TerminalStatus } from './schema/state.ts';

/** What a runner tells whoever watches, in order. Each is plain data: `--json` prints it as it is. */
export type RunnerEvent =
  | { readonly type: 'loop-started'; readonly loopId: string; readonly name: string | null; readonly taskPath: string }
  | { readonly type: 'iteration-started'; readonly iteration: number; readonly maxIterations: number }
  | { readonly type: 'command-ran'; readonly name: string; readonly outcome: string; readonly durationMs: number }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool-call';
      readonly tool: string;
      /** What it is about, in one line: the command, the file, the pattern. */
      readonly about: string;
      readonly outcome: 'ok' | 'failed';
      readonly nested: boolean;
    }
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
    }
  | { readonly type: 'waiting'; readonly why: 'idle' | 'pace' | 'rate-limit' | 'retry'; readonly until: string }
  | { readonly type: 'verifying' }
  | {
      readonly type: 'loop-ended';
      readonly status: TerminalStatus | 'paused';
      readonly message: string;
      readonly code: number;
      readonly iterations: number | null;
      /** US dollars, of the whole loop; null where nobody told. */
      readonly costUsd: number | null;
    };

export type Tell = (event: RunnerEvent) => void;
