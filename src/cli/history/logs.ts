import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { iterationsOf, unrecordedIterations } from '../../drive/records/journal.ts';
import { unrecordedText } from '../../engine/end-report.ts';
import { type Entry, isActivity, typeIn } from '../../state/event-stream.ts';
import { readOn } from '../../state/files/journal-lines.ts';
import { type LoopFiles, readState } from '../../state/loop-files.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { exportRun } from '../../state/task-folder/run-state.ts';
import { lastArchived } from '../../state/with-state.ts';
import { columnsOf } from '../../term/write-text.ts';
import { advise, RalphError } from '../../text/message.ts';
import { chosenLoop, endedLast, liveLoops, liveLoopsOn, noLoopOn, onePath, taskPlace } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { isAgent, placeForAgent } from '../refuse-agent.ts';
import { iterationTable, journalLine } from '../show/journal-line.ts';

const POLL_MS = 500;

export const LOGS_COMMAND: Command = {
  name: 'logs',
  usage: '[NAME | PATH] [--events | --iterations | --activity] [--follow | --all] [--loop NAME] | PATH --dest DIR',
  help: 'Prints the iterations and events of the current or last loop in chronological order, one line each; --json prints JSON lines. --iterations prints a table of its iterations. PATH selects the loop of a task folder; with --dest it copies the journals and transcripts of that run into a new folder.',
  example: 'ralph-loop logs --follow',
  options: options({
    events: 'Print events only.',
    activity: 'Also print what agents, tools, commands and checks did.',
    iterations: 'Print a table of the iterations, with time and cost.',
    'f, follow': 'Keep printing until Ctrl+C.',
    all: 'Also print former loops of this name.',
    'p, path PATH': 'Task folder; same as PATH.',
    'd, dest DIR': 'New folder for a copy of the run.',
  }),
  async run(context) {
    if (context.values['dest'] !== undefined) return exportLogs(context);
    const { values, err } = context;
    const { files, loopId } = loggedLoop(context);
    if (values['iterations'] === true) return tableOf(files, loopId, context);
    let from = 0;
    let told = false;
    for (;;) {
      const { entries: all, torn, next } = readOn(files.events, from, (line) => mayBeWanted(line, values));
      from = next;
      tellTorn(torn, context);
      // When following, every new line belongs to the current loop.
      const wanted = told || values['all'] === true ? undefined : (loopId ?? all.at(-1)?.['loopId']);
      const entries = all.filter(
        (entry) => isWanted(entry, values) && (wanted === undefined || entry['loopId'] === wanted),
      );
      for (const entry of entries)
        context.out(context.forPeople ? journalLine(entry, context.paint) : JSON.stringify(entry));
      if (!told) tellUnrecorded(files, wanted, context);
      if (values['follow'] !== true) {
        if (entries.length === 0 && context.forPeople)
          err(show(advise('Nothing has been recorded yet. --loop NAME shows another loop.', 'List the loops', 'list')));
        return 0;
      }
      if (!told && entries.length === 0) err('ralph-loop: nothing yet; waiting.');
      told = true;
      await sleep(POLL_MS);
    }
  },
};

/** Tells the user how many iterations of this loop are missing from the printed ones. */
function tellUnrecorded(files: LoopFiles, loopId: unknown, { err }: CommandContext): void {
  const current = readState(files.state);
  const state = current.kind === 'loop' ? current.state : lastArchived(files)?.state;
  if (state === undefined || state.loopId !== loopId) return;
  const lacking = unrecordedIterations(files, state);
  if (lacking > 0) err(withPrefix(unrecordedText(lacking, state.iteration)));
}

function tellTorn(lines: number, { err }: CommandContext): void {
  if (lines > 0) err(`ralph-loop: ${lines === 1 ? 'one line is' : `${lines} lines are`} unreadable and left out.`);
}

/** Returns whether to print an entry: decisions always, iterations unless --events, activity only with --activity. */
function isWanted({ type }: Entry, { events, activity }: CommandContext['values']): boolean {
  if (activity === true) return true;
  return type === 'iteration.ended' ? events !== true : !isActivity(type);
}

function mayBeWanted(line: string, values: CommandContext['values']): boolean {
  const type = typeIn(line);
  return type === null || isWanted({ type }, values);
}

function tableOf(files: LoopFiles, loopId: string | undefined, context: CommandContext): number {
  const { values, paint, out, err } = context;
  for (const other of ['events', 'activity', 'follow', 'all']) {
    if (values[other] === true) throw new RalphError('usage', `--iterations is a table, and takes no --${other}.`);
  }
  const { entries, torn } = iterationsOf(files, loopId);
  tellUnrecorded(files, loopId ?? entries.at(-1)?.['loopId'], context);
  tellTorn(torn, context);
  if (values['json'] === true) for (const entry of entries) out(JSON.stringify(entry));
  else if (entries.length === 0)
    err(withPrefix(advise('no iteration has been recorded yet.', 'List the loops', 'list')));
  else out(iterationTable(entries, paint, columnsOf(1)));
  return 0;
}

/** Files of a loop, and its id unless it is the last recorded one. */
interface LoggedLoop {
  readonly files: LoopFiles;
  readonly loopId?: string;
}

/** Returns the loop on the path, else the named or default one; if that has no records, the only live or the last loop. */
function loggedLoop(context: CommandContext): LoggedLoop {
  const { files } = context;
  if (context.positionals.length > 0 || context.values['path'] !== undefined) return loopOn(context, pathOf(context));
  if (files.name !== null || existsSync(files.events)) return { files };
  const [only, ...more] = liveLoops(context);
  if (only !== undefined) return { files: more.length === 0 ? only.files : files };
  return { files: endedLast(context, null)?.files ?? files };
}

function loopOn(context: CommandContext, path: string): LoggedLoop {
  if (context.values['loop'] !== undefined) throw new RalphError('usage', 'logs takes a path or --loop, not both.');
  if (liveLoopsOn(context, path).length > 0) return { files: chosenLoop(context, 'logs', path) };
  const ended = endedLast(context, path);
  if (ended?.lastLoop) return { files: ended.files, loopId: ended.lastLoop.loopId };
  return noLoopOn(context, taskPlace(context.projectDir, path).taskPath);
}

/** Copies the run of a task folder into a new folder. Throws RalphError for every misuse. */
function exportLogs(context: CommandContext): number {
  const { values, projectDir, env, answer, err } = context;
  for (const name of ['events', 'iterations', 'activity', 'follow', 'all', 'loop']) {
    if (values[name] !== undefined)
      throw new RalphError('usage', `--${name} is for printing journals; the run of a task folder is copied whole.`);
  }
  const { run, taskPath } = taskPlace(projectDir, pathOf(context));
  const named = resolve(String(values['dest']));
  const dest = isAgent(env) ? destForAgent(projectDir, named) : named;
  const { exported, skipped } = exportRun(run, dest);
  for (const path of skipped) err(`ralph-loop: ${path} is not a regular file and was not copied.`);
  const shown = relative(process.cwd(), dest);
  answer(
    { success: true, dest, exported, skipped },
    () => `Copied ${exported.length} files of ${taskPath} to ${shown}.`,
  );
  return 0;
}

/** Returns the real path of an agent's export. Throws `refused` outside the project or in another program's folder. */
function destForAgent(projectDir: string, dest: string): string {
  const { real, taken } = placeForAgent(projectDir, dest);
  if (real !== null && taken === undefined) return real;
  const message =
    taken === undefined
      ? `${dest} is outside the project. An agent can export only into the project: --dest DIR. The user may name any new folder, in another terminal.`
      : `${dest} is not available for an export: ${taken} belongs to another program. Choose another folder: --dest DIR.`;
  throw new RalphError('refused', message);
}

function pathOf({ values, positionals }: CommandContext): string {
  const word = onePath('logs', positionals);
  const option = values['path'];
  if (word !== null && option !== undefined) throw new RalphError('usage', 'logs takes PATH or --path, not both.');
  const path = word ?? option;
  if (path === '') throw new RalphError('usage', 'the path is empty: name a task folder.');
  if (typeof path !== 'string')
    throw new RalphError('usage', advise('name the task folder to export.', 'Usage', 'logs PATH --dest DIR'));
  if (values['dest'] === '') throw new RalphError('usage', '--dest is empty: name a new folder.');
  return path;
}
