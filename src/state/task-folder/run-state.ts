import { constants, copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type {
  CommandOutcome,
  LoopEvent,
  LoopIteration,
  RunStatus,
  TaskIterationRecord,
} from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { RalphError } from '../../text/message.ts';
import { fenced } from '../../text/quote.ts';
import { redact, redactRecord } from '../../text/redact/redact.ts';
import { checkShape } from '../check-shape.ts';
import { appendLine, readAllLines } from '../files/journal-lines.ts';
import { freePath, readRegularFile, syncDirectory, writeAtomically } from '../files/regular-file.ts';
import type { LoopDirectory, RunFiles } from './run-files.ts';
import { hasRunDir, isRealDir, makeRealDir, makeRunDir, pathKind, refuseLink } from './run-files.ts';

/*
 * Projection of a loop into its task folder and its loop directory, for people and programs; no decision reads it. Each
 * function masks secrets. Each throws the system's error, or `refused` for links; the caller logs it.
 */

export function mirrorStatus(files: RunFiles, status: RunStatus): void {
  makeRunDir(files);
  writeShown(files.status, status);
}

export function mirrorIteration(files: RunFiles, record: TaskIterationRecord): void {
  makeRunDir(files);
  appendShown(files.iterations, record);
}

export function mirrorEvent(files: RunFiles, event: LoopEvent): void {
  makeRunDir(files);
  appendShown(files.events, event);
}

export function showState({ state: path }: LoopDirectory, state: LoopState): void {
  refuseLink(path);
  writeShown(path, state);
}

export function showEvent({ events }: LoopDirectory, event: LoopEvent): void {
  appendShown(events, event);
}

/** Writes `iterations/NNN.json`, or `NNN-2.json` and so on if it exists, as after an idle iteration. */
export function showIteration({ iterationsDir }: LoopDirectory, entry: LoopIteration): void {
  makeRealDir(iterationsDir);
  writeShown(numbered(iterationsDir, entry.iteration, '.json'), entry);
}

function writeShown(path: string, record: object): void {
  writeAtomically(path, `${JSON.stringify(redactRecord(record), null, 2)}\n`, 0o600, 'nothing');
}

function appendShown(path: string, entry: object): void {
  refuseLink(path);
  appendLine(path, redactRecord(entry));
}

function numbered(folder: string, iteration: number, extension: string): string {
  return freePath(join(folder, String(iteration).padStart(3, '0')), extension, '-');
}

/** Status projection of a task folder. */
export interface RunState {
  /** Null if no run has written one, or if `problem` explains why it cannot be read. */
  readonly status: RunStatus | null;
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
  // Until a run has ended an iteration, the last records are those of the run before.
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
  const path = numbered(files.transcriptsDir, number, '.md');
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

/** Content of .gitignore: the projection does not belong to the project's history. */
export const IGNORED = ['/state.json', '/events.jsonl', '/iterations/', '/runs/', '/.ralph-runner*/', ''].join('\n');

const SUMMARY_LINES = 3;
const SUMMARY_LIMIT = 500;

export function summaryOf(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  return redact(lines.slice(0, SUMMARY_LINES).join('\n')).slice(0, SUMMARY_LIMIT);
}

/** Keeps the projection and this .gitignore out of git, in a directory without one. */
export function keepOutOfGit({ dir }: LoopDirectory): void {
  const path = join(dir, '.gitignore');
  if (pathKind(path) === 'nothing') writeAtomically(path, `/.gitignore\n${IGNORED}`);
}

/** Moves the projection of an earlier run into a folder of `runs/` named after the instant `at`. */
export function putRunAway(directory: LoopDirectory, at: string): void {
  const { state, events, iterationsDir } = directory;
  const shown = [state, events, iterationsDir].filter((path) => pathKind(path) !== 'nothing');
  if (shown.length === 0) return;
  makeRealDir(directory.runsDir);
  const target = freePath(join(directory.runsDir, at.replaceAll(':', '-')));
  mkdirSync(target);
  for (const path of shown) renameSync(path, join(target, basename(path)));
}

/** Moves a task folder's run state into its archive. Throws `usage` if there is none, `refused` for links. */
export function archiveRun(files: RunFiles, at: string): string {
  if (!hasRunDir(files)) {
    const message = `${files.taskDir} has no run state to archive: no loop has run there since the last time.`;
    throw new RalphError('usage', message);
  }
  if (!isRealDir(files.archiveDir)) mkdirSync(files.archiveDir);
  const path = freePath(join(files.archiveDir, at.replaceAll(':', '-')));
  renameSync(files.dir, path);
  syncDirectory(files.archiveDir);
  syncDirectory(files.taskDir);
  return path;
}

/** Moves the run state of another runner away: its status file is not ours, or none of its records can be read. */
export function putForeignRunAway(files: RunFiles, at: string): void {
  const found = readRunState(files);
  if (found === null) return;
  const isForeign =
    found.status === null && (found.problem !== null || (found.lastIteration === null && found.torn > 0));
  if (isForeign) archiveRun(files, at);
}

/** Copies status, journals and transcripts into an empty folder. Throws `usage` without a run, `refused` if it is not empty. */
export function exportRun(files: RunFiles, dest: string) {
  if (!hasRunDir(files)) {
    const message = `${files.taskDir} has no run state to export: no loop has run there, or its run was put into ${basename(files.archiveDir)}.`;
    throw new RalphError('usage', message);
  }
  refuseTaken(files, dest);
  /** Paths relative to the destination, in order. */
  const exported: string[] = [];
  /** Links, folders and anything else that is not a plain file. */
  const skipped: string[] = [];
  const copy = (from: string, to: string): void => {
    const lies = pathKind(from);
    if (lies === 'file') copyFileSync(from, join(dest, to), constants.COPYFILE_EXCL);
    if (lies !== 'nothing') (lies === 'file' ? exported : skipped).push(to);
  };
  mkdirSync(dest, { recursive: true });
  for (const path of [files.status, files.iterations, files.events]) copy(path, basename(path));
  const transcripts = pathKind(files.transcriptsDir);
  if (transcripts !== 'directory')
    return { exported, skipped: transcripts === 'nothing' ? skipped : [...skipped, 'transcripts'] };
  mkdirSync(join(dest, 'transcripts'));
  for (const name of readdirSync(files.transcriptsDir).sort()) {
    // Other files are drafts of a dead process.
    if (name.endsWith('.md')) copy(join(files.transcriptsDir, name), `transcripts/${name}`);
  }
  return { exported, skipped };
}

function refuseTaken(files: RunFiles, dest: string): void {
  const inside = relative(files.dir, dest);
  if (inside === '' || (!isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`)))
    throw new RalphError('refused', `${dest} is inside the run state itself. Choose another folder: --dest DIR.`);
  const lies = pathKind(dest);
  if (lies === 'nothing') return;
  if (lies === 'directory' && readdirSync(dest).length === 0) return;
  const message = `${dest} already exists, and nothing is overwritten. Choose another folder: --dest DIR.`;
  throw new RalphError('refused', message);
}
