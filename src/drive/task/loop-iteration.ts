import type { ChecklistCount } from '../../core/checklist.ts';
import type { LoopIteration } from '../../core/schema/loop-iteration.ts';
import type { TaskIterationRecord } from '../../core/schema/run-state.ts';
import { summaryOf } from '../../state/show-in-loop-directory.ts';

/** What is known of an iteration's agent beside its record; what is left out nobody knows. */
export interface AgentFacts {
  readonly turns?: number | null;
  readonly toolCalls?: number | null;
  readonly model?: string | null;
  readonly checklist?: ChecklistCount | undefined;
}

/** What a loop directory's file says of an iteration. `message` is the agent's final one, or null. */
export function loopIteration(
  record: TaskIterationRecord,
  message: string | null,
  { turns = null, toolCalls = null, model = null, checklist }: AgentFacts = {},
): LoopIteration {
  const { loopId, iteration, status: outcome, startedAt, endedAt, durationMs, usage, progress, completion } = record;
  return {
    ...{ loopId, iteration, outcome, startedAt, endedAt, durationMs, usage, turns, toolCalls, model },
    checklist: checklist === undefined ? null : { done: checklist.done, total: checklist.total },
    ...{ progress, completion, summary: summaryOf(message ?? '') },
  };
}
