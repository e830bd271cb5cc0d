import type { EndReport } from './end-report.ts';
import type { UsageDelta } from './events.ts';
import type { Activity } from './schema/event.ts';
import type { CommonState, PauseReason, TerminalStatus } from './schema/state.ts';

export type WaitReason = Activity<'wait.started'>['why'];

/** Events that a driver tells, in order, by the names that they have in the stream. `--json` prints each as it is. */
export type RunnerEvent =
  /** With how the loop stands: one that is resumed has a past. */
  | (Readonly<Pick<CommonState, 'loopId' | 'name' | 'taskPath' | 'iteration' | 'maxIterations' | 'startedAt'>> & {
      readonly type: 'run.started';
      readonly costUsd: number | null;
      readonly usage: UsageDelta;
    })
  /** The agent's words as they arrive; for the live view only. */
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
