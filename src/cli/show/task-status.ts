import { dirname, join } from 'node:path';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { liveBeats } from '../../state/task-folder/heartbeat.ts';
import { type RunFiles, runFiles } from '../../state/task-folder/run-files.ts';
import { type RunState, readRunState } from '../../state/task-folder/run-state.ts';
import { hasFolder, taskKind } from '../../task/task-file.ts';
import { instantText } from '../../term/figures.ts';
import { type AdvisedLoop, forLoop } from '../../term/for-loop.ts';
import { printable } from '../../term/paint.ts';
import { formatDuration } from '../../text/duration.ts';
import type { CommandContext } from '../command.ts';
import { type BriefLoop, briefly, chosenLoop, liveLoops, liveLoopsOn } from '../live-loops.ts';
import { taskPlace } from '../task-place.ts';
import { lastIterations } from './iteration-table.ts';
import { lastEnded } from './last-ended.ts';
import { NO_LOOP, type Status, statusOf } from './status-of.ts';

/** Iterations that a status shows; `logs --iterations` shows them all. */
const RECENT = 10;

export type ReportedStatus = Status & {
  /** There for the loop of a task folder; null where the folder tells nothing. */
  readonly run?: RunState | null;
  /** The loops that are live where the one that was asked for is not; left out where there are none. */
  readonly loops?: readonly BriefLoop[];
  /** The records of its last iterations, oldest first; left out where there are none. */
  readonly recent?: readonly Readonly<Record<string, unknown>>[];
};

/** How the default loop or the one that was named stands; where it is not live, with the loops that are. */
export function statusHere(context: CommandContext): ReportedStatus {
  const status = reported(context.files, statusOf(context));
  const live = status.active ? [] : liveLoops(context).filter(({ files }) => files.state !== context.files.state);
  if (status.active || live.length === 0) return status;
  const message = status.message === NO_LOOP ? 'The default loop is not active.' : status.message;
  return { ...status, message, loops: live.map(briefly) };
}

/** How the loop on a path stands: the live one, or, with what its task folder still tells, the one that is over. */
export function statusOnPath(context: CommandContext, path: string): ReportedStatus {
  if (liveLoopsOn(context, path).length > 0) {
    const files = chosenLoop(context, 'status');
    return reported(files, statusOf({ ...context, files, projectDir: files.projectDir }));
  }
  const { projectDir, env } = context;
  const { taskPath } = taskPlace(projectDir, path);
  const run = runOf(projectDir, taskPath);
  const name = run?.status?.name ?? null;
  const files = loopFiles(projectDir, name !== null && LOOP_NAME.test(name) ? name : null, env);
  const ended = lastEnded(files);
  const lastLoop = ended?.taskPath === taskPath ? ended : null;
  return {
    active: false,
    message: `No loop is active on ${taskPath}.`,
    name,
    lastLoop,
    run,
    ...recentOf(files, lastLoop?.loopId),
  };
}

/** A status with all that is told of its loop beside its state. */
function reported(files: LoopFiles, status: Status): ReportedStatus {
  const loopId = status.active ? status.loopId : status.lastLoop?.loopId;
  return { ...withRun(files.projectDir, status), ...recentOf(files, loopId) };
}

function recentOf(files: LoopFiles, loopId: string | null | undefined): Pick<ReportedStatus, 'recent'> {
  if (loopId === null || loopId === undefined) return {};
  const recent = lastIterations(files, loopId).entries.slice(-RECENT);
  return recent.length === 0 ? {} : { recent };
}

/** A status with what the task folder tells of its loop, where it has one. */
function withRun(projectDir: string, status: Status): ReportedStatus {
  const taskPath = status.active ? status.taskPath : status.lastLoop?.taskPath;
  if (taskPath === undefined || !hasFolder(taskKind(taskPath))) return status;
  return { ...status, run: runOf(projectDir, taskPath) };
}

/** What the task folder of a loop tells of its run; null for a loop without one, or where none has run. */
function runOf(projectDir: string, taskPath: string): RunState | null {
  const run = runOfTask(projectDir, taskPath);
  return run === null ? null : tolerant(run);
}

/** The last sign of life that a loop gave in its task folder; null where it gave none within half an hour. */
export function heartbeatOf(projectDir: string, taskPath: string, loopId: string | null, at: string): string | null {
  const run = runOfTask(projectDir, taskPath);
  if (run === null) return null;
  try {
    return liveBeats(run, at).find((beat) => beat.loopId === loopId)?.at ?? null;
  } catch {
    return null; // a folder that cannot be read, or a link in its place, shows no life; status says what is wrong
  }
}

/** Lines for people: the last iteration, its commands, and how a claim of completion fared. */
export function runLines({ status, lastIteration, torn, problem }: RunState, at: string, loop: AdvisedLoop): string[] {
  const lines: string[] = [];
  if (status !== null && status.endedAt !== null) {
    const { iteration, endedAt, message } = status;
    lines.push(
      `The run in this folder ended as ${status.status} after iteration ${iteration} (${instantText(endedAt, at)})${message === null ? '.' : `: ${forLoop(message, loop)}`}`,
    );
  }
  if (lastIteration !== null) {
    const { iteration, durationMs, progress, changedFiles, commands, completion } = lastIteration;
    const files = changedFiles.length === 1 ? '1 file' : `${changedFiles.length} files`;
    const moved =
      progress === true ? `progress (${files} changed)` : progress === false ? 'no progress' : 'progress unknown';
    lines.push(`Iteration ${iteration}: ${lastIteration.status} after ${formatDuration(durationMs)}, ${moved}.`);
    if (commands.length > 0) {
      lines.push(`Commands: ${commands.map(({ name, outcome }) => `${name} ${outcome}`).join(', ')}.`);
    }
    if (completion.promiseSeen) lines.push(claimLine(completion));
  }
  if (torn > 0) lines.push(`${torn === 1 ? 'One line' : `${torn} lines`} of iterations.jsonl cannot be read.`);
  if (problem !== null) lines.push(problem);
  return lines.map(printable);
}

function claimLine({ gateChecked, gatePassed, reasons }: NonNullable<RunState['lastIteration']>['completion']): string {
  if (!gateChecked) return 'The promise was seen; no gate was asked.';
  return gatePassed
    ? 'The promise was seen, and the gate passed.'
    : `The promise was seen, and the gate refused: ${reasons.join('; ')}`;
}

function runOfTask(projectDir: string, taskPath: string): RunFiles | null {
  return hasFolder(taskKind(taskPath)) ? runFiles(join(projectDir, dirname(taskPath))) : null;
}

/** What cannot be read is a problem to show, not a reason to say nothing of the loop. */
function tolerant(run: RunFiles): RunState | null {
  try {
    return readRunState(run);
  } catch (error) {
    return { status: null, lastIteration: null, torn: 0, problem: (error as Error).message };
  }
}
