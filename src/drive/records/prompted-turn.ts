import { join, relative, sep } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { Contract } from '../../engine/schema/contract.ts';
import type {
  CommandOutcome,
  IterationRecord,
  PromptedTurn,
  TaskIterationRecord,
} from '../../engine/schema/records.ts';
import { checkShape } from '../../state/check-shape.ts';
import { lastEntry } from '../../state/files/journal-lines.ts';
import { readRecord, writeAtomically, writeRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, makeRuntimeDir } from '../../state/loop-files.ts';
import { makeRunDir, type RunFiles, refuseLink, runFiles } from '../../state/task-folder/run-files.ts';
import type { TranscriptParts } from '../../state/task-folder/run-state.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import { redact } from '../../text/redact/redact.ts';

/** Stores the turn outside the project: the agent must not write the baseline of its own iteration. */
export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  writeRecord(files.promptedTurn, turn);
}

/** Returns the last stored turn of this loop; null if there is none, or the file is invalid. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  const turn = readRecord<PromptedTurn>(files.promptedTurn);
  return checkShape(turn, shapes.promptedTurn) === null && turn?.loopId === loopId ? (turn as PromptedTurn) : null;
}

/** Writes the prompt to a file to which an agent can be pointed. Returns its path, relative to the project. */
export function keepPrompt(folder: string, whole: string, { taskPath }: Contract): string {
  const run = runFiles(folder);
  makeRunDir(run);
  const path = join(run.dir, 'prompt.md');
  refuseLink(path);
  writeAtomically(path, redact(whole), 0o600, 'nothing');
  return `${taskPath.slice(0, taskPath.lastIndexOf('/') + 1)}.ralph-runner/prompt.md`;
}

export function keepPlainPrompt(files: LoopFiles, whole: string): string {
  makeRuntimeDir(files);
  refuseLink(files.prompt);
  writeAtomically(files.prompt, redact(whole), 0o600, 'nothing');
  return relative(files.projectDir, files.prompt).split(sep).join('/');
}

export interface Counted {
  readonly loopId: string;
  /** Number of finished working iterations. */
  readonly iteration: number;
  /** End of the last of them, if its own record lacks it. */
  readonly lastRunAt: string;
  readonly noProgress: number;
}

/** Size of the newest lines; a line has a few kilobytes. */
const TAIL_BYTES = 1024 * 1024;
/** Size of the event stream's end that contains the last two iterations. */
const STREAM_BYTES = 64 * 1024 * 1024;

export function isShownAsLost(run: RunFiles, { loopId, iteration }: Pick<Counted, 'loopId' | 'iteration'>): boolean {
  const last = lastEntry(run.iterations, TAIL_BYTES, loopId);
  return last?.['iteration'] === iteration && last['status'] === 'interrupted';
}

/** Returns the last iteration if the process that counted it died before the task folder showed it; else null. */
export function lostIteration(
  files: LoopFiles,
  run: RunFiles,
  { loopId, iteration, lastRunAt, noProgress }: Counted,
): { readonly record: TaskIterationRecord; readonly transcript: TranscriptParts } | null {
  const told = (entry: Record<string, unknown>): boolean =>
    entry['iteration'] === iteration && /^iteration\.(?:completed|failed)$/.test(String(entry['type']));
  // The event precedes the record. If both are missing, the folder was emptied or archived.
  if (lastEntry(run.events, TAIL_BYTES, loopId, undefined, told) === null) return null;
  if (Number(lastEntry(run.iterations, TAIL_BYTES, loopId)?.['iteration'] ?? 0) >= iteration) return null;
  const known = recordOf(files, loopId, iteration);
  const noted = readPromptedTurn(files, loopId);
  const turn = noted?.iteration === iteration ? noted : null;
  const startedAt = known?.startedAt ?? turn?.at ?? lastRunAt;
  const endedAt = known?.endedAt ?? lastRunAt;
  const status = 'interrupted';
  return {
    record: {
      loopId,
      iteration,
      status,
      startedAt,
      endedAt,
      durationMs: known?.durationMs ?? 0,
      progress: 'unknown',
      changedFiles: [],
      noProgressStreak: noProgress,
      completion: { promiseSeen: known?.claimed ?? false, gateChecked: false, gatePassed: false, reasons: [] },
      commands: (turn?.evidence ?? []).map(commandOutcome),
      snapshotBounds: ['interrupted'],
      usage: null,
    },
    transcript: {
      loopId,
      startedAt,
      endedAt,
      status,
      prompt: turn?.prompt ?? null,
      commands: turn?.evidence ?? [],
      message: null,
    },
  };
}

function recordOf(files: LoopFiles, loopId: string, iteration: number): IterationRecord | null {
  const wanted = (entry: Record<string, unknown>): boolean =>
    entry['iteration'] === iteration && entry['kind'] === 'working';
  const mayBe = (line: string): boolean => line.includes('"type":"iteration.ended"');
  const found = lastEntry(files.events, STREAM_BYTES, loopId, mayBe, wanted);
  return checkShape(found, shapes.lostIteration) === null ? (found as unknown as IterationRecord) : null;
}

export function commandOutcome({ name, outcome, durationMs, truncated, bytes, preview }: Evidence): CommandOutcome {
  return { name, outcome, durationMs, truncated, bytes, preview };
}
