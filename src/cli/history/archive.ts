import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { archivedBatches } from '../../drive/parallel/batch.ts';
import { runOfBatch } from '../../drive/parallel/run-of-batch.ts';
import { type EndedLoop, endedLoopOf } from '../../drive/status/loop-report.ts';
import { loopNames } from '../../drive/status/project-loops.ts';
import { noticeLines } from '../../engine/end-report.ts';
import type { Run } from '../../engine/schema/run.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import { noticesOf, readNotices } from '../../state/notices.ts';
import { show } from '../../state/process/program.ts';
import { archiveRun } from '../../state/task-folder/archive-run.ts';
import { listArchive } from '../../state/with-state.ts';
import { instantText, printable, table } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { parseDuration } from '../../text/time.ts';
import { agrees } from '../ask.ts';
import { activeText, endedLast, liveLoopsOn, taskPlace } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';

interface ArchivedFile {
  readonly file: string;
  /** Null for a file without a loop, such as an unreadable state. */
  readonly loop: EndedLoop | null;
}

export const ARCHIVE_COMMAND: Command = {
  name: 'archive',
  summary: 'List ended runs and loops, show one, or archive a run.',
  usage: '[show FILE | PATH] [--prune AGE] [--loop NAME]',
  help: 'Lists the runs over several tasks that are over, and the archived states of a loop, newest last; "archive show FILE" prints one of them. With the PATH of a task folder it moves the run state, .ralph-runner, into .ralph-runner-archive beside it. It refuses while a loop is active there.',
  example: 'ralph-loop archive tasks/docs',
  options: options({
    'prune AGE': 'Remove archived states of this loop that are older than AGE, such as 30d; asks first.',
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
    const message =
      'archive takes no argument, "show FILE" with a name from the list, or the path of a task folder (quoted if it has spaces).';
    throw new RalphError('usage', message);
  },
};

function archive(context: CommandContext, path: string): number {
  const { projectDir, now, answer } = context;
  const { run } = taskPlace(projectDir, path);
  const [live] = liveLoopsOn(context, path);
  if (live !== undefined) {
    throw new RalphError('refused', activeText(path));
  }
  const moved = archiveRun(run, now());
  answer({ success: true, path: moved }, () => `Moved the run state to ${relative(projectDir, moved)}.`);
  return 0;
}

const DAY_MS = 86_400_000;

/** Removes old archived states after a question that lists them; without a terminal only with --yes. */
async function pruneArchive(context: CommandContext, age: string): Promise<number> {
  const { files, values, mayAsk, now, answer, err } = context;
  const days = /^(\d{1,5})d$/.exec(age)?.[1];
  const limit = days === undefined ? parseDuration(age) : Number(days) * DAY_MS;
  if (limit === null || context.positionals.length > 0) {
    throw new RalphError('usage', `--prune takes an age such as 30d or 12h and no path, but is "${age}".`);
  }
  const before = Date.parse(now()) - limit;
  const old = listArchive(files).filter(({ path }) => statSync(path).mtimeMs < before);
  if (old.length > 0 && values['yes'] !== true) {
    if (!mayAsk) throw new RalphError('refused', `Removing ${old.length} archived states needs a terminal, or --yes.`);
    err(old.map(({ file }) => `  ${file}`).join('\n'));
    if (!(await agrees(`Remove these ${old.length} archived states?`))) return 1;
  }
  for (const { path } of old) removeIfThere(path);
  const removed = old.map(({ file }) => file);
  answer({ success: true, removed }, () =>
    removed.length === 0 ? `No archived state is older than ${age}.` : `Removed ${removed.length} archived states.`,
  );
  return 0;
}

function listing(context: CommandContext): number {
  const { projectDir, env, answer, now, atTerminal } = context;
  const isAny = context.files.name === null && listArchive(context.files).length === 0;
  const files = (isAny ? endedLast(context, null)?.files : undefined) ?? context.files;
  const notices = readNotices(files);
  const of = (state: LoopState) => notices.filter(({ loopId }) => loopId === state.loopId);
  const archived: ArchivedFile[] = listArchive(files).map(({ file, content }) => ({
    file,
    loop: content.kind === 'loop' ? endedLoopOf(content.state, file, of(content.state)) : null,
  }));
  const runs = context.files.name === null ? archivedRuns(context) : [];
  answer({ directory: files.archiveDir, archived, runs }, () => {
    if (archived.length + runs.length === 0) return emptyText(files.name, loopNames(projectDir, env));
    const rows = [...runs.map((entry) => runRow(entry, now())), ...archived.map((entry) => row(entry, now()))];
    return atTerminal ? messagesBelow(rows) : table(rows);
  });
  return 0;
}

interface ArchivedRun {
  readonly file: string;
  /** Null for an unreadable record. */
  readonly run: Run | null;
}

/** Returns the project's runs over several tasks that are over, newest last. */
function archivedRuns({ projectDir, env, now }: CommandContext): ArchivedRun[] {
  const where = { projectDir, env, at: now() };
  return archivedBatches(projectDir, env).map(({ file, batch }) => ({ file, run: batch && runOfBatch(batch, where) }));
}

function runRow({ file, run }: ArchivedRun, at: string): string[] {
  if (run === null) return [file, 'unreadable'];
  const { title, endedAt, startedAt, done, total, why } = run;
  return [file, instantText(endedAt ?? startedAt, at), `${done} of ${total} tasks`, printable(`${title}: ${why}`)];
}

/** Lists the rows with each message on a line of its own: a terminal would wrap a column of messages. */
function messagesBelow(rows: readonly string[][]): string {
  const heads = table(rows.map((cells) => cells.slice(0, 3))).split('\n');
  return rows.map(([, , , message], at) => [heads[at], ...(message ? [`  ${message}`] : [])].join('\n')).join('\n');
}

function emptyText(name: string | null, names: readonly (string | null)[]): string {
  const whose = name === null ? 'the default loop' : `loop ${name}`;
  const text = `The archive of ${whose} is empty.`;
  if (!names.some((other) => other !== name)) return text;
  return show(advise(`${text} --loop NAME lists the archive of another.`, 'List the loops', 'list'));
}

function row({ file, loop }: ArchivedFile, at: string): string[] {
  if (loop === null) return [file, 'unreadable'];
  const message = [loop.message, ...noticeLines(loop.notices ?? [])].join(' ');
  return [file, instantText(loop.endedAt, at), `${loop.iteration}/${loop.maxIterations}`, printable(message)];
}

function printState(context: CommandContext, wanted: string): number {
  const { files, json, out } = context;
  const kept = archivedRuns(context).find(({ file }) => file === wanted || file === `${wanted}.json`);
  if (kept !== undefined) {
    if (kept.run === null) out(`${kept.file} contains no run.`);
    else json(kept.run);
    return 0;
  }
  const found = listArchive(files).find(({ file }) => file === wanted || file === `${wanted}.json`);
  if (found === undefined) {
    throw new RalphError('usage', advise(`there is no "${wanted}" in the archive.`, 'List it', 'archive'));
  }
  if (found.content.kind === 'loop') {
    const { state } = found.content;
    json({ ...state, reported: noticesOf(files, state.loopId) });
  } else out(`${found.path} contains no loop.`);
  return 0;
}
