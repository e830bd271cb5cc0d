import { type CheckResult, type EngineEvent, tokens } from '../../engine/events.ts';
import { reasonText } from '../../engine/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type {
  AgentRecord,
  IterationRecord,
  PromptedTurn,
  Snapshot,
  TaskIterationRecord,
} from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { pick } from '../../text/json.ts';
import { callsSince } from './client-figures.ts';
import { commandOutcome } from './prompted-turn.ts';
import { projectionOf } from './status-projection.ts';

/** Changes during an iteration, by snapshots of the project. */
export interface Measured {
  /** Facts at the start of the iteration; null if the user wrote the prompt, or if they could not be written. */
  readonly turn: PromptedTurn | null;
  readonly progress: 'yes' | 'no' | 'unknown';
  /** Changed files, within the limits of the snapshot. */
  readonly changedFiles: readonly string[];
  /** Limits that cut a snapshot short. */
  readonly bounds: readonly string[];
  /** Current snapshot of the project; null if none was taken. */
  readonly after: Snapshot | null;
}

/** Facts about an iteration of a task folder, collected while its turn ends. */
export interface TaskTurn {
  readonly contract: Contract;
  readonly measured: Measured;
  readonly ended: Extract<EngineEvent, { type: 'iteration-ended' }>;
  /** The engine's own record, until it is shown in the task folder. */
  readonly record: IterationRecord | null;
  /** Results of the gate; null if it did not run. */
  readonly gate: readonly CheckResult[] | null;
  readonly waited: boolean;
  readonly agent?: Pick<AgentRecord, 'turns' | 'model' | 'costUsd' | 'usage'> | undefined;
}

/** Shows a decided iteration in its task folder, once: as a line of the journal and as a transcript. */
export function showIteration(files: LoopFiles, turn: TaskTurn, state: LoopState, at: string): TaskTurn {
  const { record, measured, ended } = turn;
  if (record === null) return turn;
  const line = taskIterationRecord(record, turn, state);
  const { loopId, startedAt } = line;
  const transcript = {
    ...pick(line, ['loopId', 'startedAt', 'endedAt', 'status']),
    prompt: measured.turn?.prompt ?? null,
    commands: measured.turn?.evidence ?? [],
    calls: callsSince(files, loopId, startedAt),
    message: ended.text,
  };
  const { toolCalls, callsUnknown, checklist } = ended;
  const facts = { ...turn.agent, toolCalls: callsUnknown === true ? null : toolCalls, checklist };
  projectionOf(files, at, turn.contract).iteration(line, transcript, facts);
  return { ...turn, record: null };
}

/** Returns the journal line of a task folder for a decided iteration. `state` is the loop's state after the decision. */
function taskIterationRecord(
  record: IterationRecord,
  { measured, ended, gate, agent }: TaskTurn,
  state: LoopState,
): TaskIterationRecord {
  const usage = agent?.usage ?? ended.usage;
  const failed = gate?.filter(({ outcome }) => outcome !== 'ok') ?? [];
  const status = ended.timedOut ? 'timeout' : record.kind === 'idle' ? 'idle' : 'completed';
  return {
    ...pick(record, ['loopId', 'iteration']),
    status,
    ...pick(record, ['startedAt', 'endedAt', 'durationMs']),
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
    // In a session the client reports only the cost of the whole session.
    usage: usage && { ...tokens((kind) => usage[kind]), costUsd: agent?.costUsd ?? null },
  };
}
