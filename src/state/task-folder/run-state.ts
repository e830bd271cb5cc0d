import { join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { CommandOutcome, LoopEvent, RunStatus, TaskIterationRecord } from '../../engine/schema/records.ts';
import { fenced } from '../../text/quote.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';
import { checkShape } from '../check-shape.ts';
import { appendLine, readAllLines } from '../files/journal-lines.ts';
import { freePath, readRegularFile, writeAtomically } from '../files/regular-file.ts';
import { hasRunDir, makeRunDir, type RunFiles, refuseLink } from './run-files.ts';

/*
 * Projection of a loop in its task folder, for people and programs; no decision reads it. Each function masks secrets, and
 * throws the system's error, or `refused` for links, for the caller to log.
 */

export function mirrorStatus(files: RunFiles, status: RunStatus): void {
  makeRunDir(files);
  writeAtomically(files.status, `${JSON.stringify(redactRecord(status), null, 2)}\n`, 0o600, 'nothing');
}

export function mirrorIteration(files: RunFiles, record: TaskIterationRecord): void {
  append(files, files.iterations, record);
}

export function mirrorEvent(files: RunFiles, event: LoopEvent): void {
  append(files, files.events, event);
}

function append(files: RunFiles, path: string, entry: object): void {
  makeRunDir(files);
  refuseLink(path);
  appendLine(path, redactRecord(entry));
}

/** Status projection of a task folder. */
export interface RunState {
  /** Null if no run has written one, or if `problem` explains why it cannot be read. */
  readonly status: RunStatus | null;
  /** Last record of the iterations, or null. */
  readonly lastIteration: TaskIterationRecord | null;
  /** Number of unreadable lines of the iterations. */
  readonly torn: number;
  readonly problem: string | null;
}

const MAX_STATUS = 1024 * 1024;

/** Reads the projection of a task folder's run; null if there has been none. Throws `refused` for links. */
export function readRunState(files: RunFiles): RunState | null {
  if (!hasRunDir(files)) return null;
  for (const path of [files.status, files.iterations]) refuseLink(path);
  const { status, problem } = readStatus(files);
  const { entries, torn } = readAllLines(files.iterations);
  const records = entries.filter((entry) => checkShape(entry, shapes.taskIteration) === null);
  if (status === null && problem === null && entries.length + torn === 0) return null;
  const last = (records.at(-1) ?? null) as TaskIterationRecord | null;
  // A run that has ended no iteration yet follows the records of the run before.
  const lastIteration = status === null || last?.loopId === status.loopId ? last : null;
  return { status, lastIteration, torn: torn + entries.length - records.length, problem };
}

function readStatus(files: RunFiles): Pick<RunState, 'status' | 'problem'> {
  const text = readRegularFile(files.status, MAX_STATUS);
  if (text === null) return { status: null, problem: null };
  try {
    const status: unknown = JSON.parse(text);
    const problem = checkShape(status, shapes.runStatus);
    if (problem === null) return { status: status as RunStatus, problem: null };
    return { status: null, problem: `${files.status} cannot be used: ${problem}.` };
  } catch (error) {
    return { status: null, problem: `${files.status} cannot be read: ${(error as Error).message}` };
  }
}

export interface TranscriptParts
  extends Readonly<Pick<TaskIterationRecord, 'loopId' | 'startedAt' | 'endedAt' | 'status'>> {
  /** Prompt as sent; null if unknown, for example for the user's own first prompt. */
  readonly prompt: string | null;
  /** Commands; `output` is the part that the prompt contained. */
  readonly commands: readonly (Pick<CommandOutcome, 'name' | 'outcome' | 'durationMs'> & {
    readonly run: string;
    readonly output: string;
  })[];
  /** Tool calls in order, with subject and outcome. */
  readonly calls?: readonly { readonly tool: string; readonly about: string; readonly outcome: string }[];
  /** The agent's final message; null if unknown. */
  readonly message: string | null;
}

/** Writes a transcript to `transcripts/NNN.md`, or `NNN-2.md` and so on if it exists, and returns its path. */
export function writeTranscript(files: RunFiles, number: number, parts: TranscriptParts): string {
  makeRunDir(files, files.transcriptsDir);
  const path = freePath(join(files.transcriptsDir, String(number).padStart(3, '0')), '.md', '-');
  writeAtomically(path, redact(transcriptText(number, parts)), 0o600, 'nothing');
  return path;
}

function transcriptText(number: number, parts: TranscriptParts): string {
  const { loopId, startedAt, endedAt, status, prompt, commands, calls = [], message } = parts;
  const evidence = commands.flatMap(({ name, run, outcome, durationMs, output }) => [
    `### ${name}: ${outcome} after ${(durationMs / 1000).toFixed(1)} s`,
    fenced(run, 'sh'),
    fenced(output),
  ]);
  return [
    `# Iteration ${number}`,
    [`- Loop: ${loopId}`, `- Status: ${status}`, `- Started: ${startedAt}`, `- Ended: ${endedAt}`].join('\n'),
    '## Prompt',
    prompt === null ? 'Not known.' : fenced(prompt, 'markdown'),
    '## Command evidence',
    ...(evidence.length === 0 ? ['No command was run.'] : evidence),
    '## Tool calls',
    ...(calls.length === 0
      ? ['None is recorded.']
      : calls.map(({ tool, about, outcome }) => `- ${tool}: ${outcome}\n${fenced(about)}`)),
    "## The agent's final message",
    message === null ? 'Not known.' : fenced(message, 'markdown'),
    '',
  ].join('\n\n');
}
