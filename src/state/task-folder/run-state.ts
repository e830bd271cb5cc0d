import { join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { LoopEvent } from '../../engine/schema/records.ts';
import type { CommandOutcome, RunStatus, TaskIterationRecord } from '../../engine/schema/run-status.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';
import { checkShape } from '../check-shape.ts';
import { appendLine, readAllLines } from '../files/journal-lines.ts';
import { readRegularFile } from '../files/read-regular-file.ts';
import { writeAtomically } from '../files/write-atomically.ts';
import { hasRunDir, makeRunDir, type RunFiles, refuseLink, whatLies } from './run-files.ts';

/*
 * The mirror of a loop in its task folder, for people and programs. The loop's own state decides; nothing is ever read
 * from here to decide anything. Each of these throws what the system says, or `refused` where a link would lead out of
 * the folder: for the caller to log, because a mirror that cannot be written changes no decision.
 */

/** Puts the status where readers find the old one or this one, whole. Secrets are masked. */
export function mirrorStatus(files: RunFiles, status: RunStatus): void {
  makeRunDir(files);
  writeAtomically(files.status, `${JSON.stringify(redactRecord(status), null, 2)}\n`);
}

/** Appends an iteration as one line. Secrets are masked. */
export function mirrorIteration(files: RunFiles, record: TaskIterationRecord): void {
  append(files, files.iterations, record);
}

/** Appends an event as one line. Secrets are masked. */
export function mirrorEvent(files: RunFiles, event: LoopEvent): void {
  append(files, files.events, event);
}

function append(files: RunFiles, path: string, entry: object): void {
  makeRunDir(files);
  refuseLink(path);
  appendLine(path, redactRecord(entry));
}

/** What a task folder tells of its run. */
export interface RunState {
  /** null where no run has left one, or where `problem` says why it cannot be read. */
  readonly status: RunStatus | null;
  /** The last line of the iterations, or null. */
  readonly lastIteration: TaskIterationRecord | null;
  /** Lines of the iterations that cannot be read. */
  readonly torn: number;
  readonly problem: string | null;
}

const MAX_STATUS = 1024 * 1024;

/** Reads the durable status of a task folder's run; null where there has been none. Throws `refused` on links. */
export function readRunState(files: RunFiles): RunState | null {
  if (!hasRunDir(files)) return null;
  for (const path of [files.status, files.iterations]) refuseLink(path);
  const { status, problem } = readStatus(files);
  const { entries, torn } = readAllLines(files.iterations);
  const records = entries.filter((entry) => checkShape(entry, shapes.taskIteration) === null);
  if (status === null && problem === null && entries.length + torn === 0) return null;
  const lastIteration = (records.at(-1) ?? null) as TaskIterationRecord | null;
  return { status, lastIteration, torn: torn + entries.length - records.length, problem };
}

function readStatus(files: RunFiles): Pick<RunState, 'status' | 'problem'> {
  const text = readRegularFile(files.status, MAX_STATUS);
  if (text === null) return { status: null, problem: null };
  try {
    const status: unknown = JSON.parse(text);
    const problem = checkShape(status, shapes.runStatus);
    return problem === null
      ? { status: status as RunStatus, problem: null }
      : { status: null, problem: `${files.status} cannot be used: ${problem}.` };
  } catch (error) {
    return { status: null, problem: `${files.status} cannot be read: ${(error as Error).message}` };
  }
}

/** One iteration as people read it afterwards. */
export interface TranscriptParts {
  readonly loopId: string;
  readonly startedAt: string;
  readonly endedAt: string;
  /** Such as `completed` or `timeout`. */
  readonly status: string;
  /** As it was sent; null where nobody knows, such as the user's own first prompt. */
  readonly prompt: string | null;
  /** `output` is what the prompt got of it. */
  readonly commands: readonly (Pick<CommandOutcome, 'name' | 'outcome' | 'durationMs'> & {
    readonly run: string;
    readonly output: string;
  })[];
  /** The agent's final message; null where nobody knows it any more. */
  readonly message: string | null;
}

/**
 * Writes an iteration's transcript, secrets masked, to `transcripts/NNN.md` and gives back its path. One that is there,
 * of an idle iteration or an earlier run, is never overwritten: the new one is `NNN-2.md` and so on. Throws as the rest
 * of the run state does.
 */
export function writeTranscript(files: RunFiles, number: number, parts: TranscriptParts): string {
  makeRunDir(files, files.transcriptsDir);
  const stem = String(number).padStart(3, '0');
  for (let copy = 1; ; copy++) {
    const path = join(files.transcriptsDir, `${stem}${copy === 1 ? '' : `-${copy}`}.md`);
    if (whatLies(path) !== 'nothing') continue;
    writeAtomically(path, redact(transcriptText(number, parts)));
    return path;
  }
}

function transcriptText(number: number, parts: TranscriptParts): string {
  const { loopId, startedAt, endedAt, status, prompt, commands, message } = parts;
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
    "## The agent's final message",
    message === null ? 'Not known.' : fenced(message, 'markdown'),
    '',
  ].join('\n\n');
}

/** A text as it is, in a fence that nothing within it can close. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}
