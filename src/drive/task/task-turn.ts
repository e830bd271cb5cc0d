import type { Effect } from '../../core/effects.ts';
import type { CheckResult, EngineEvent } from '../../core/events.ts';
import type { Contract } from '../../core/schema/contract.ts';
import type { IterationRecord } from '../../core/schema/records.ts';
import type { LoopState } from '../../core/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { taskIterationRecord } from './iteration-record.ts';
import type { Measured } from './measure-iteration.ts';
import { mirrorOf } from './mirror.ts';

/** What one Stop of a task folder's loop learns of its iteration, step by step. */
export interface TaskTurn {
  readonly contract: Contract;
  readonly measured: Measured;
  readonly ended: Extract<EngineEvent, { type: 'iteration-ended' }>;
  /** The engine's own record, until it was shown in the task folder. */
  record: IterationRecord | null;
  /** What the gate said of a claim; null where none was asked. */
  gate: readonly CheckResult[] | null;
  /** Whether something was waited for since the iteration ended. */
  waited: boolean;
  /** What a runner has heard of its agent. */
  readonly agent?: { readonly turns: number | null; readonly model: string | null; readonly costUsd: number | null };
}

/** Notes what the engine recorded; what it says is shown once nothing more can come of the iteration. */
export function noteRecord(turn: TaskTurn, effects: readonly Effect[]): void {
  for (const effect of effects) if (effect.type === 'record-iteration') turn.record = effect.record;
}

/** Shows an iteration that is decided in its task folder: as a line of the journal, and as a transcript. Once. */
export function showIteration(files: LoopFiles, turn: TaskTurn, state: LoopState, at: string): void {
  const { record, measured, ended } = turn;
  if (record === null) return;
  turn.record = null;
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
  mirrorOf(files, at, turn.contract).iteration(line, transcript, facts);
}
