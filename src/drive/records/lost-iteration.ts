import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { IterationRecord } from '../../engine/schema/records.ts';
import type { CommandOutcome, TaskIterationRecord } from '../../engine/schema/run-status.ts';
import { checkShape } from '../../state/check-shape.ts';
import { lastEntry } from '../../state/files/read-tail.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { RunFiles } from '../../state/task-folder/run-files.ts';
import type { TranscriptParts } from '../../state/task-folder/run-state.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import { readPromptedTurn } from './prompted-turn.ts';

/** How far a loop has counted, by its state. */
export interface Counted {
  readonly loopId: string;
  /** Working iterations that are over. */
  readonly iteration: number;
  /** When the last of them ended, where its own record does not say. */
  readonly lastRunAt: string;
  readonly noProgress: number;
}

/** The newest lines; a line of ours has a few kilobytes. */
const TAIL_BYTES = 1024 * 1024;

/** Whether the task folder's last word of a loop is that this iteration was lost. */
export function isShownAsLost(run: RunFiles, { loopId, iteration }: Pick<Counted, 'loopId' | 'iteration'>): boolean {
  const last = lastEntry(run.iterations, TAIL_BYTES, loopId);
  return last?.['iteration'] === iteration && last['status'] === 'interrupted';
}

/**
 * The last iteration of a loop where its task folder does not show it: a process died that had counted it and was about
 * to, such as a Stop hook that is killed while the gate runs. null where nothing is missing. What the iteration changed,
 * and what the gate would have said, nobody knows any more.
 */
export function lostIteration(
  files: LoopFiles,
  run: RunFiles,
  { loopId, iteration, lastRunAt, noProgress }: Counted,
): { readonly record: TaskIterationRecord; readonly transcript: TranscriptParts } | null {
  const told = (entry: Record<string, unknown>): boolean => entry['iteration'] === iteration && isTold(entry);
  // An iteration's event comes before its record. Where both are missing, the folder was emptied or archived meanwhile.
  if (lastEntry(run.events, TAIL_BYTES, loopId, told) === null) return null;
  if (Number(lastEntry(run.iterations, TAIL_BYTES, loopId)?.['iteration'] ?? 0) >= iteration) return null;
  const known = recordOf(files, loopId, iteration);
  const noted = readPromptedTurn(files, loopId);
  const turn = noted?.iteration === iteration ? noted : null;
  const startedAt = known?.startedAt ?? turn?.at ?? lastRunAt;
  const endedAt = known?.endedAt ?? lastRunAt;
  const status = 'interrupted';
  return {
    record: {
      ...{ loopId, iteration, status, startedAt, endedAt, durationMs: known?.durationMs ?? 0 },
      ...{ progress: 'unknown', changedFiles: [], noProgressStreak: noProgress },
      completion: { promiseSeen: known?.claimed ?? false, gateChecked: false, gatePassed: false, reasons: [] },
      commands: (turn?.evidence ?? []).map(commandOutcome),
      ...{ snapshotBounds: ['interrupted'], usage: null },
    },
    transcript: {
      ...{ loopId, startedAt, endedAt, status },
      ...{ prompt: turn?.prompt ?? null, commands: turn?.evidence ?? [], message: null },
    },
  };
}

function isTold({ type }: Record<string, unknown>): boolean {
  return type === 'iteration.completed' || type === 'iteration.failed';
}

/** What the loop's own journal says of an iteration. */
function recordOf(files: LoopFiles, loopId: string, iteration: number): IterationRecord | null {
  const found = lastEntry(
    files.iterations,
    TAIL_BYTES,
    loopId,
    (entry) => entry['iteration'] === iteration && entry['kind'] === 'working',
  );
  return checkShape(found, shapes.lostIteration) === null ? (found as unknown as IterationRecord) : null;
}

/** Of what a command showed, what the journal keeps. */
export function commandOutcome({ name, outcome, durationMs, truncated, bytes, preview }: Evidence): CommandOutcome {
  return { name, outcome, durationMs, truncated, bytes, preview };
}
