import type { Effect } from '../../engine/effects.ts';
import type { CheckResult, EngineEvent } from '../../engine/events.ts';
import { reasonText } from '../../engine/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { AgentRecord, IterationRecord } from '../../engine/schema/records.ts';
import type { TaskIterationRecord } from '../../engine/schema/run-status.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Measured } from '../prompt/gather-evidence.ts';
import { commandOutcome } from './lost-iteration.ts';
import { projectionOf } from './status-projection.ts';

/** What one Stop of a task folder's loop learns of its iteration, step by step. */
export interface TaskTurn {
  readonly contract: Contract;
  readonly measured: Measured;
  readonly ended: Extract<EngineEvent, { type: 'iteration-ended' }>;
  /** The engine's own record, until it is shown in the task folder. */
  readonly record: IterationRecord | null;
  /** What the gate said of a claim; null where none was asked. */
  readonly gate: readonly CheckResult[] | null;
  /** Whether something was waited for since the iteration ended. */
  readonly waited: boolean;
  /** What a runner knows of its agent. */
  readonly agent?: Pick<AgentRecord, 'turns' | 'model' | 'costUsd'> | undefined;
}

/** Keeps what the engine recorded until nothing more can come of the iteration. */
export function noteRecord(turn: TaskTurn, effects: readonly Effect[]): TaskTurn {
  const found = effects.find((effect) => effect.type === 'record-iteration');
  return found === undefined ? turn : { ...turn, record: found.record };
}

/** Shows a decided iteration in its task folder, once: as a line of the journal, and as a transcript. */
export function showIteration(files: LoopFiles, turn: TaskTurn, state: LoopState, at: string): TaskTurn {
  const { record, measured, ended } = turn;
  if (record === null) return turn;
  const line = taskIterationRecord(record, turn, state);
  const transcript = {
    loopId: line.loopId,
    startedAt: line.startedAt,
    endedAt: line.endedAt,
    status: line.status,
    prompt: measured.turn?.prompt ?? null,
    commands: measured.turn?.evidence ?? [],
    message: ended.text,
  };
  const { toolCalls, callsUnknown, checklist } = ended;
  const facts = { ...turn.agent, toolCalls: callsUnknown === true ? null : toolCalls, checklist };
  projectionOf(files, at, turn.contract).iteration(line, transcript, facts);
  return { ...turn, record: null };
}

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

/** In a session the client says what that has cost, not what an iteration did: `costUsd` is null there. */
function usage(
  { usage }: EngineEvent & { type: 'iteration-ended' },
  costUsd: number | null,
): TaskIterationRecord['usage'] {
  if (usage === null) return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd };
}
