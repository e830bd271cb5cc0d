import type { EndReport } from './end-report.ts';
import type { UsageDelta } from './events.ts';
import type { Activity } from './schema/event.ts';
import type { CommonState, PauseReason, TerminalStatus } from './schema/state.ts';

export type WaitReason = Activity<'wait.started'>['why'];

/** Events that a driver emits, in order, by their names in the event stream. `--json` prints each unchanged. */
export type RunnerEvent =
  /** Includes the loop's current figures: a resumed loop has finished iterations. */
  | (Readonly<Pick<CommonState, 'loopId' | 'name' | 'taskPath' | 'iteration' | 'maxIterations' | 'startedAt'>> & {
      readonly type: 'run.started';
      /** Time since the start in which the loop was stopped; absent without any. */
      readonly stoppedMs?: number;
      readonly costUsd: number | null;
      readonly usage: UsageDelta;
    })
  /** The agent's text as it arrives; emitted only for the live view. */
  | { readonly type: 'agent.text-delta'; readonly text: string }
  | Activity<
      | ('iteration.started' | 'command.started' | 'command.ran' | 'tool.started' | 'tool.ended' | 'wait.started')
      | ('agent.text' | 'agent.usage' | 'agent.checklist' | 'agent.notice' | 'agent.interrupting')
      | ('agent.after-iteration' | 'steering.pending' | 'steering.sent' | 'verification.started')
    >
  | (Activity<'agent.ended'> & { readonly iteration: number })
  | { readonly type: 'loop.paused'; readonly reason: PauseReason }
  | (Omit<Activity<'run.ended'>, 'status'> & {
      readonly status: TerminalStatus | 'paused';
      /** The message without its advice, if it differs. */
      readonly text?: string;
      readonly iterations: number | null;
      readonly costUsd: number | null;
      readonly report?: EndReport;
    });

export type RunnerEventOf<T extends RunnerEvent['type']> = Extract<RunnerEvent, { type: T }>;

export type Tell = (event: RunnerEvent) => void;
