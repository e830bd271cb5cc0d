import { type EndedLoop, type LiveLoop, loopNames } from '../../drive/status/loop-report.ts';
import { type EndReport, noticeLines, reportLines, stoppedText } from '../../engine/end-report.ts';
import { isUnjoined } from '../../engine/initial-state.ts';
import { pausedText, reasonLines } from '../../engine/messages.ts';
import type { Run } from '../../engine/schema/batch.ts';
import { type Entry, readBackwards } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { callHere, show } from '../../state/process/program.ts';
import type { RunState } from '../../state/task-folder/run-state.ts';
import { loopDirectoryTasks } from '../../task/task-file.ts';
import { instantText, type Paint, printable, table } from '../../term/format.ts';
import { columnsOf } from '../../term/write-text.ts';
import { costText } from '../../text/figures.ts';
import type { ChecklistCount } from '../../text/markdown/lists.ts';
import { advise, commandLine, startOn } from '../../text/message.ts';
import { statusWords } from '../../text/status-words.ts';
import { elapsed, formatDuration } from '../../text/time.ts';
import { type BriefLoop, loopTable } from '../choose-loop.ts';
import type { CommandContext } from '../command.ts';
import { iterationTable } from './journal-line.ts';
import { taskTable } from './run-text.ts';

export type Status = (InactiveLoop | LiveLoop) & {
  /** State of the run in a task folder; null if nothing ran there, absent for other tasks. */
  readonly run?: RunState | null;
  /** Other live loops, if the requested one is not live; absent if there are none. */
  readonly loops?: readonly BriefLoop[];
  /** Status of the checks; absent before the first one. */
  readonly checks?: CheckStand;
  /** Records of the last iterations, oldest first; absent if there are none. */
  readonly recent?: readonly Readonly<Record<string, unknown>>[];
  /** The run over a plan that this loop is; absent for other loops. */
  readonly runs?: readonly [Run];
  /** Report of the last ended loop; absent while one is live. */
  readonly report?: EndReport;
};

export interface InactiveLoop {
  readonly active: false;
  /** Text besides the last loop; null if there is none. */
  readonly news: string | null;
  readonly message: string;
  readonly name: string | null;
  readonly lastLoop: EndedLoop | null;
}

export function statusText(status: Status, context: CommandContext): string {
  const { now, paint } = context;
  const at = now();
  const [planRun] = status.runs ?? [];
  const tasks = planRun === undefined ? [] : ['', ...taskTable(planRun, columnsOf(1))];
  const figures = [...tasks, ...(status.recent ? ['', iterationTable(status.recent, paint, columnsOf(1))] : [])];
  if (status.active) {
    const run = status.run ? runLines(status.run, status.name, at, false) : [];
    return [activeText(status, at, paint), ...figures, ...run].join('\n');
  }
  const { lastLoop } = status;
  const run = status.run ? runLines(status.run, status.name, at, lastLoop !== null) : [];
  const head = lastLoop !== null && status.news === null ? [] : [printable(status.message)];
  const ended = lastLoop === null ? [] : [endedText(lastLoop, status, at, paint)];
  const report = status.report === undefined ? [] : reportLines(status.report).map(printable);
  return [...head, ...ended, ...report, ...figures, ...run, ...othersText(status, context)].join('\n');
}

/** Names the other live loops or what to do next, if the requested loop is not live. */
function othersText({ name, news, loops, lastLoop }: InactiveLoop & Status, where: CommandContext): string[] {
  if (loops !== undefined) return ['Active here; name one by its path or --loop NAME:', loopTable(loops)];
  if (lastLoop !== null || news !== null) return [];
  const [path] = where.positionals;
  if (path !== undefined) return [show(advise('', 'Start one', startOn('runner', path)))];
  const others = loopNames(where.projectDir, where.env).some((other) => other !== name);
  if (others) return [show(advise('', 'Other loops', 'list'))];
  const tasks = loopDirectoryTasks(where.projectDir).map((task) => task.name);
  const [first = '"TASK"'] = tasks;
  const written = tasks.length === 0 ? '' : `Tasks here: ${tasks.join(', ')}.`;
  return [show(advise(written, 'Start one', `run ${first}`))];
}

function activeText(status: LiveLoop, at: string, paint: Paint): string {
  const name = status.name === null ? 'The loop' : `Loop ${status.name}`;
  const rows = [
    ['task', status.taskPath + (status.promptExists ? '' : paint('red', '  (missing)'))],
    ['iterations', progressText(status)],
    ...(status.checklist === undefined ? [] : [['checklist', checklistText(status.checklist)]]),
    ...(status.scenarios === undefined ? [] : [['scenarios', scenariosText(status.scenarios)]]),
    [
      'started',
      instantText(status.startedAt, at) +
        stoppedText(status.stoppedMs ?? 0, (time) => `did not run for ${time} of this time`),
    ],
    ['last turn', instantText(status.lastRunAt, at)],
    ...(status.lastFindingsCount === 'unknown' ? [] : [['findings', `${status.lastFindingsCount}`]]),
    ['client', clientText(status, at, paint)],
    ...(status.usage === null ? [] : [['usage', usageText(status.usage, status.iteration)]]),
  ];
  const notices = noticeLines(status.notices ?? []).map((line) => `\n  ${printable(line)}`);
  return `${name} is ${paint('bold', stateText(status, at))}.\n${table(rows.map((row) => ['', ...row]))}${notices.join('')}`;
}

function scenariosText({ done, total, current }: NonNullable<LiveLoop['scenarios']>): string {
  return `${checklistText({ done, total })} proved${current === null ? '' : `, working on ${current}`}`;
}

const WAITS = {
  idle: ['idle', 'it wakes'],
  pace: ['waiting', 'the next iteration begins'],
  retry: ['waiting, because the last agent could not work', 'the next one may start'],
  background: ['waiting for background work', 'it goes on at the latest'],
  answer: ['waiting for the next answer of the agent', 'the wait ends'],
  message: ['waiting for a message in its session', 'the wait ends'],
  dialog: ['waiting for your answer in its session', 'the wait ends'],
} as const;

function stateText(status: LiveLoop, at: string): string {
  if (status.suspended) return `${liveWords(status)} by Ctrl+Z; fg in its terminal continues it`;
  if (status.paused !== null) {
    const { reason, resumesAt } = status.paused;
    return pausedText(reason, status.finishing) + (resumesAt === null ? '' : `, until ${instantText(resumesAt, at)}`);
  }
  if (status.waitingUntil !== null && status.status !== 'interrupted') {
    const [why, next] = WAITS[status.waitingFor ?? 'idle'];
    const left = elapsed(at, status.waitingUntil);
    return left > 0 ? `${why}; ${next} in ${formatDuration(left)}` : why;
  }
  const words = liveWords(status);
  return status.stopRequested ? `${words}, stopping after this iteration` : words;
}

/** Returns the status of a live loop in words; a started loop that no session has joined is not running yet. */
export function liveWords(live: LiveLoop): string {
  if (live.suspended) return 'suspended';
  if (live.status === 'running' && isUnjoined(live)) return 'waiting for a session';
  return live.status === 'running' && live.waitingFor !== null ? WAITS[live.waitingFor][0] : statusWords(live.status);
}

/** Formats a count, such as `3 of 10`. */
export function checklistText({ done, total }: ChecklistCount): string {
  return total === 0 ? 'no items yet' : `${done} of ${total}`;
}

function progressText(live: LiveLoop): string {
  const { iteration, maxIterations, idleIterations, status, waitingFor } = live;
  const isBetween = waitingFor === 'message' || waitingFor === 'retry' || isUnjoined(live);
  const isAtWork = status === 'running' && !isBetween && iteration < maxIterations;
  const now = isAtWork ? `, iteration ${iteration + 1} in progress` : '';
  return `${iteration} of ${maxIterations} done${now}${idleIterations === 0 ? '' : `, ${idleIterations} idle`}`;
}

function clientText(status: LiveLoop, at: string, paint: Paint): string {
  const { clientPid, clientAlive, mode, name, sessionId, paused, silentSince } = status;
  const resume = commandLine({ command: 'resume' }, { name, mode, ...callHere() });
  if (mode === 'runner' && clientAlive !== null)
    return clientAlive ? 'started by the run, which is alive' : paint('red', `its runner has exited: ${resume}`);
  if (mode === 'hook' && clientPid === null && sessionId !== null) return `session ${sessionId}`;
  const isNone = clientPid === null || clientAlive === null;
  if (isNone && mode === 'router' && sessionId !== null) return mode;
  if (isNone) return paused === null ? 'none yet' : `none: ${resume}`;
  if (!clientAlive) return paint('red', `process ${clientPid} has exited: ${resume}`);
  if (silentSince === undefined) return `process ${clientPid}`;
  const silent = formatDuration(elapsed(silentSince, at));
  return `process ${clientPid}, silent for ${silent}: a long call, or it is waiting for your answer`;
}

function usageText(usage: NonNullable<LiveLoop['usage']>, iteration: number): string {
  const cost = costText(usage.costUsd, Boolean(usage.unpricedRuns));
  const all = [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens];
  if (usage.costUsd === null && all.every((count) => count === 0))
    return iteration === 0 ? 'unknown until an iteration ends' : 'unknown';
  const billed = usage.inputTokens + usage.outputTokens + usage.cacheWriteTokens;
  const read = usage.cacheReadTokens;
  const cached = read === 0 ? '' : `, ${read.toLocaleString('en')} more read from the cache`;
  return `${billed.toLocaleString('en')} tokens${cached}, ${cost}`;
}

function endedText(loop: EndedLoop, { name, report }: Status, at: string, paint: Paint): string {
  const list = loop.checklist === undefined ? '' : `, checklist ${checklistText(loop.checklist)}`;
  const style = loop.status === 'complete' ? 'green' : loop.status === 'error' ? 'red' : 'yellow';
  const whose = name === null ? 'The last loop' : `Loop ${name}`;
  const how = `${paint(style, statusWords(loop.status))}${list}, ${instantText(loop.endedAt, at)}`;
  return `${whose} ended (${how}): ${printable(report?.reason ?? loop.message)}`;
}

/** Describes the last iteration, its commands, and the outcome of a completion claim, unless the loop's end was `shown`. */
function runLines(
  { status, lastIteration, torn, problem }: RunState,
  name: string | null,
  at: string,
  shown: boolean,
): string[] {
  const lines: string[] = [];
  if (status !== null && status.endedAt !== null && !shown) {
    const { iteration, endedAt, message } = status;
    lines.push(
      `The run in this folder ended after iteration ${iteration} (${statusWords(status.status)}, ${instantText(endedAt, at)})${message === null ? '.' : `: ${message}`}`,
    );
  }
  if (lastIteration !== null && !shown) {
    const { iteration, progress, changedFiles, commands, completion } = lastIteration;
    const files = changedFiles.length === 1 ? '1 file' : `${changedFiles.length} files`;
    const moved =
      progress === true ? `progress (${files} changed)` : progress === false ? 'no progress' : 'progress unknown';
    const which = iteration === 0 ? 'Last turn' : `Iteration ${iteration}`;
    lines.push(`${which}: ${lastIteration.status}, ${moved}.`);
    if (commands.length > 0)
      lines.push(`Commands: ${commands.map(({ name, outcome }) => `${name} ${outcome}`).join(', ')}.`);
    if (completion.promiseSeen) lines.push(...claimLines(completion, name));
  }
  if (torn > 0) lines.push(`${torn === 1 ? 'One line' : `${torn} lines`} of iterations.jsonl cannot be read.`);
  if (problem !== null) lines.push(problem);
  return lines.map(printable);
}

type Claim = NonNullable<RunState['lastIteration']>['completion'];

function claimLines({ gateChecked, gatePassed, reasons }: Claim, name: string | null): string[] {
  const loop = { name, mode: 'runner', ...callHere() } as const;
  if (!gateChecked) return ['The agent claimed completion; no check was run.'];
  if (gatePassed) return ['The agent claimed completion, and every check passed.'];
  return [
    'The agent claimed completion, and these checks rejected it:',
    ...reasons.flatMap((reason) => reasonLines(reason, { loop })),
  ];
}

interface CheckStand {
  /** Name of the check that is running now; null if none is. */
  readonly running: string | null;
  /** Result of the last verification: the last failed check, or else the last one; null if none has run. */
  readonly last: { readonly name: string; readonly outcome: string; readonly tail: string } | null;
}

/** Size of the stream's end that is read; more than two iterations write. */
const BUDGET = 8 * 1024 * 1024;

const STAND = ['check.', 'loop.started'];

export function checkStand(files: LoopFiles, loopId: string, status: string): CheckStand {
  let running: string | null = null;
  const results: Entry[] = [];
  let isOver = status !== 'verifying';
  // The end of an iteration shows that no check is running, or that an earlier verification belongs to another one.
  const types = (): string[] => [...STAND, ...(isOver && results.length === 0 ? [] : ['iteration.ended'])];
  readBackwards(files, loopId, BUDGET, types, (event) => {
    const { type } = event;
    if (type === 'check.started' && !isOver) running = String(event['name']);
    if (type === 'check.ran') results.push(event);
    isOver = true;
    return type === 'loop.started' || (type === 'iteration.ended' && results.length > 0);
  });
  const shown = results.find(({ outcome }) => outcome !== 'ok') ?? results[0];
  if (shown === undefined) return { running, last: null };
  const [name, outcome, tail] = ['name', 'outcome', 'tail'].map((key) => String(shown[key] ?? ''));
  return { running, last: { name: name ?? '', outcome: outcome ?? '', tail: tail ?? '' } };
}
