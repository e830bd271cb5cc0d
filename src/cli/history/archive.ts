import { relative, resolve } from 'node:path';
import { archiveBatch, archivedBatches, findBatch, refuseRunning, runOfBatch } from '../../drive/parallel/batch.ts';
import { type EndedLoop, endedLoopOf } from '../../drive/status/loop-report.ts';
import { noticeLines } from '../../engine/end-report.ts';
import type { Batch, Run } from '../../engine/schema/batch.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { isFolder } from '../../state/files/regular-file.ts';
import { noticesOf, readNotices } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { archiveRun } from '../../state/task-folder/run-state.ts';
import { listArchive } from '../../state/with-state.ts';
import { hasFolder, taskKind } from '../../task/task-file.ts';
import { instantText, printable, table } from '../../term/format.ts';
import { counted } from '../../text/figures.ts';
import { advise, RalphError } from '../../text/message.ts';
import { activeText, isTaskAt, liveLoopsOn, loopOfArchive, taskPlace } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { doneText } from '../show/run-text.ts';
import { pruneArchive } from './prune-archive.ts';

interface ArchivedFile {
  readonly file: string;
  /** Null for a file without a loop, such as an unreadable state. */
  readonly loop: EndedLoop | null;
}

export const ARCHIVE_COMMAND: Command = {
  name: 'archive',
  usage: '[show FILE | PATH] [--prune AGE] [--loop NAME]',
  help: 'Lists ended runs of several tasks and the archived states of a loop, newest last; "archive show FILE" prints one of them. With the PATH of a task folder it moves the run state, .ralph-runner, into .ralph-runner-archive beside it; with the PATH of a plan, it moves a run that could be resumed into the archive. It refuses while a loop is active there.',
  example: 'ralph-loop archive tasks/docs',
  options: options({
    'prune AGE':
      'Remove what is older than AGE, such as 30d: archived states of this loop and, without --loop, runs with their loops. Asks first. Their loops can no longer be undone; worktrees, branches and their commits stay.',
    yes: 'Remove them without asking.',
  }),
  control: true,
  run(context) {
    const { prune } = context.values;
    if (typeof prune === 'string') return pruneArchive(context, prune);
    const [action, file, ...more] = context.positionals;
    if (action === undefined) return listing(context);
    if (action === 'show' && file !== undefined && more.length === 0) return printState(context, file);
    if (action !== 'show' && file === undefined) return archive(context, action);
    if (action === 'show' && file === undefined)
      throw new RalphError('usage', advise('archive show needs the name of a file.', 'List them', 'archive'));
    const message =
      'archive takes no argument, "show FILE" with a name from the list, or the path of a task folder (quoted if it has spaces).';
    throw new RalphError('usage', message);
  },
};

function archive(context: CommandContext, path: string): number {
  const { projectDir, env, now, answer } = context;
  const ended = endedRunOn(context, path);
  if (ended !== null) {
    archiveBatch(projectDir, env, ended);
    const run = runOfBatch(ended, { projectDir, env, at: now() });
    answer({ success: true, run }, () => printable(`Archived ${run.title}: ${doneText(run)}. ${keptText(run)}`));
    return 0;
  }
  const { run } = taskPlace(projectDir, path);
  const [live] = liveLoopsOn(context, path);
  if (live !== undefined) throw new RalphError('refused', activeText(path));
  const moved = archiveRun(run, now());
  answer({ success: true, path: moved }, () => `Moved the run state to ${relative(projectDir, moved)}.`);
  return 0;
}

/** Returns the run over the plan at a path, if it is over but could be resumed; else null. Throws `refused` for a live run. */
function endedRunOn({ projectDir, env }: CommandContext, path: string): Batch | null {
  const found = findBatch(projectDir, env);
  if (found instanceof RalphError && !isFolder(resolve(path)) && !hasFolder(taskKind(path))) throw found;
  if (found === null || found instanceof RalphError || found.plan === undefined) return null;
  if (!isTaskAt(projectDir, found.plan.path, path)) return null;
  refuseRunning(found);
  return found;
}

function keptText({ tasks }: Run): string {
  const branches = tasks.flatMap(({ branch }) => branch ?? []);
  if (branches.length === 0) return 'It can no longer be resumed.';
  return `It can no longer be resumed; ${branches.join(', ')} and ${branches.length === 1 ? 'its worktree' : 'their worktrees'} stay.`;
}

function listing(context: CommandContext): number {
  const { projectDir, env, answer, now, atTerminal } = context;
  const files = loopOfArchive(context);
  const notices = readNotices(files);
  const of = (state: LoopState) => notices.filter(({ loopId }) => loopId === state.loopId);
  const archived: ArchivedFile[] = listArchive(files).map(({ file, content }) => ({
    file,
    loop: content.kind === 'loop' ? endedLoopOf(content.state, file, of(content.state)) : null,
  }));
  const runs = context.files.name === null ? archivedRuns(context) : [];
  const left = findBatch(projectDir, env);
  if (left instanceof RalphError) context.err(withPrefix(left.advised));
  answer({ directory: files.archiveDir, archived, runs }, () => {
    if (archived.length + runs.length === 0)
      return `The archive of ${files.name === null ? 'the default loop' : `loop ${files.name}`} is empty.`;
    const rows = [...runs.map((entry) => runRow(entry, now())), ...archived.map((entry) => row(entry, now()))];
    return atTerminal ? messagesBelow(rows) : table(rows);
  });
  return 0;
}

/** Returns the project's ended runs over several tasks, newest last; null for an unreadable record. */
function archivedRuns({ projectDir, env, now }: CommandContext) {
  const where = { projectDir, env, at: now() };
  return archivedBatches(projectDir, env).map(({ file, batch }) => ({ file, run: batch && runOfBatch(batch, where) }));
}

function runRow({ file, run }: ReturnType<typeof archivedRuns>[number], at: string): string[] {
  if (run === null) return [file, 'unreadable'];
  const { title, endedAt, startedAt, done, total, why } = run;
  return [file, instantText(endedAt ?? startedAt, at), `${done} of ${total} tasks`, printable(`${title}: ${why}`)];
}

/** Lists the rows, with figures and message on a separate line: a terminal would wrap their columns. */
function messagesBelow(rows: readonly string[][]): string {
  const heads = table(rows.map((cells) => cells.slice(0, 2))).split('\n');
  const below = rows.map(([, , figures, message]) => (figures && message ? [`  ${figures}. ${message}`] : []));
  return heads.flatMap((head, at) => [head, ...(below[at] ?? [])]).join('\n');
}

function row({ file, loop }: ArchivedFile, at: string): string[] {
  if (loop === null) return [file, 'unreadable'];
  const message = [loop.message, ...noticeLines(loop.notices ?? [])].join(' ');
  return [
    file,
    instantText(loop.endedAt, at),
    `${loop.iteration} of ${counted(loop.maxIterations, 'iteration')}`,
    printable(message),
  ];
}

function printState(context: CommandContext, wanted: string): number {
  const { json, out } = context;
  const files = loopOfArchive(context);
  const kept = archivedRuns(context).find(({ file }) => file === wanted || file === `${wanted}.json`);
  if (kept !== undefined) {
    if (kept.run === null) out(`${kept.file} contains no run.`);
    else json(kept.run);
    return 0;
  }
  const found = listArchive(files).find(({ file }) => file === wanted || file === `${wanted}.json`);
  if (found === undefined)
    throw new RalphError('usage', advise(`there is no "${wanted}" in the archive.`, 'List it', 'archive'));
  if (found.content.kind === 'loop') {
    const { state } = found.content;
    json({ ...state, reported: noticesOf(files, state.loopId) });
  } else out(`${found.path} contains no loop.`);
  return 0;
}
