import type { EngineEvent } from '../../core/events.ts';
import type { IterationRecord } from '../../core/schema/records.ts';
import type { CommandOutcome, TaskIterationRecord } from '../../core/schema/run-state.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { reasonText } from '../../core/transitions/verified.ts';
import type { Evidence } from '../../task/run-evidence.ts';
import type { TaskTurn } from './task-turn.ts';

/** What a task folder's journal says of an iteration, once it is decided. `state` is the loop's after the decision. */
export function taskIterationRecord(
  record: IterationRecord,
  { measured, ended, gate, agent }: TaskTurn,
  state: LoopState,
): TaskIterationRecord {
  const failed = gate?.filter(({ outcome }) => outcome !== 'ok') ?? [];
  return {
    loopId: record.loopId,
    iteration: record.iteration,
    status: ended.timedOut ? 'timeout' : record.kind === 'idle' ? 'idle' : 'completed',
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    durationMs: record.durationMs,
    progress: ended.progress === 'unknown' ? 'unknown' : ended.progress === 'yes',
    changedFiles: [...measured.changedFiles],
    noProgressStreak: state.breaker.noProgress,
    completion: {
      promiseSeen: record.claimed,
      gateChecked: gate !== null && gate.length > 0,
      gatePassed: gate !== null && failed.length === 0,
      reasons: failed.map(reasonText),
    },
    commands: (measured.turn?.evidence ?? []).map(commandOutcome),
    snapshotBounds: [...measured.bounds],
    usage: usage(ended, agent?.costUsd ?? null),
  };
}

/** Of what a command showed, what the journal keeps. */
export function commandOutcome({ name, outcome, durationMs, truncated, bytes, preview }: Evidence): CommandOutcome {
  return { name, outcome, durationMs, truncated, bytes, preview };
}

/** In a session the client says what that has cost, not what an iteration did: `costUsd` is null there. */
function usage(
  { usage }: EngineEvent & { type: 'iteration-ended' },
  costUsd: number | null,
): TaskIterationRecord['usage'] {
  if (usage === null) return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd };
}
