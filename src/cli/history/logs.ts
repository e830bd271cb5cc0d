import { existsSync, realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { iterationsOf } from '../../drive/status/loop-report.ts';
import { safePath } from '../../install/files/project-files.ts';
import { type Lines, readOn } from '../../state/files/journal-lines.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { exportRun } from '../../state/task-folder/archive-run.ts';
import { projectPath } from '../../task/project-file.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { liveLoops } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { iterationColumns, iterationTable } from '../show/iteration-table.ts';
import { journalLine } from '../show/journal-line.ts';
import { foreignSegment } from '../task/scaffold.ts';
import { onePath, taskPlace } from '../task-place.ts';

/** Polling interval of `--follow`. */
const POLL_MS = 500;

export const LOGS_COMMAND: Command = {
  name: 'logs',
  summary: 'Print the journals of a loop, or export a run.',
  usage: '[--events | --iterations] [--follow] [--loop NAME] | [PATH] [--dest DIR]',
  help: 'Prints each iteration and each event of a loop in the order of time: one line each, with --json as JSON lines. --iterations prints a table of the iterations of the last loop. With the PATH of a task folder it copies the journals and transcripts of that run into a new folder.',
  example: 'ralph-loop logs --follow',
  options: options({
    events: 'Print events only.',
    iterations: 'Print a table of the iterations, with time and cost.',
    'f, follow': 'Keep printing until Ctrl+C.',
    'p, path PATH': 'Task folder to export; same as PATH.',
    'd, dest DIR': 'Target folder; default: ./ralph-logs-TIME.',
  }),
  control: false,
  async run(context) {
    if (wantsExport(context)) return exportLogs(context);
    const { values, err } = context;
    const files = loggedLoop(context);
    if (values['iterations'] === true) return tableOf(files, context);
    const journals = [
      { path: files.events, next: 0 },
      ...(values['events'] === true ? [] : [{ path: files.iterations, next: 0 }]),
    ];
    let told = false;
    for (;;) {
      const read = journals.map(readNew);
      const torn = read.reduce((sum, lines) => sum + lines.torn, 0);
      if (torn > 0) err(`ralph-loop: ${torn === 1 ? 'one line is' : `${torn} lines are`} unreadable and left out.`);
      const entries = read.flatMap(({ entries }) => entries).sort((a, b) => time(a).localeCompare(time(b)));
      for (const entry of entries) print(entry, context);
      if (values['follow'] !== true) {
        if (entries.length === 0 && context.forPeople) {
          context.err(
            'Nothing has been recorded yet. ralph-loop list shows all loops; --loop NAME prints those of one.',
          );
        }
        return 0;
      }
      if (!told && entries.length === 0) err('ralph-loop: nothing yet; waiting.');
      told = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  },
};

/** Prints the iterations of the loop recorded last. */
function tableOf(files: LoopFiles, { values, atTerminal, paint, out, err }: CommandContext): number {
  for (const other of ['events', 'follow']) {
    if (values[other] === true) throw new RalphError('usage', `--iterations is a table, and takes no --${other}.`);
  }
  const { entries, torn } = iterationsOf(files);
  if (torn > 0) err(`ralph-loop: ${torn === 1 ? 'one line is' : `${torn} lines are`} unreadable and left out.`);
  if (values['json'] === true) for (const entry of entries) out(JSON.stringify(entry));
  else if (entries.length === 0)
    err('ralph-loop: no iteration has been recorded yet. ralph-loop list shows all loops.');
  else out(atTerminal ? iterationTable(entries, paint) : iterationColumns(entries));
  return 0;
}

/** Returns the named loop, else the default one; if that has recorded nothing, the only live loop. */
function loggedLoop(context: CommandContext): LoopFiles {
  const { files } = context;
  if (files.name !== null || existsSync(files.events) || existsSync(files.iterations)) return files;
  const [only, ...more] = liveLoops(context);
  return only !== undefined && more.length === 0 ? only.files : files;
}

interface Journal {
  readonly path: string;
  next: number;
}

/** Returns everything added since the last call. */
function readNew(journal: Journal): Lines {
  const lines = readOn(journal.path, journal.next);
  journal.next = lines.next;
  return lines;
}

function print(entry: Readonly<Record<string, unknown>>, { forPeople, paint, out }: CommandContext): void {
  out(forPeople ? journalLine(entry, paint) : JSON.stringify(entry));
}

/** Returns the time of an event, or the end of an iteration. */
function time(entry: Readonly<Record<string, unknown>>): string {
  return String(entry['at'] ?? entry['endedAt'] ?? '');
}

/** Returns true if `logs` was called to export the run of a task folder. */
export function wantsExport({ values, positionals }: CommandContext): boolean {
  return positionals.length > 0 || values['path'] !== undefined || values['dest'] !== undefined;
}

/** Copies the run of a task folder to a folder of its own. Throws RalphError for every misuse. */
export function exportLogs(context: CommandContext): number {
  const { values, projectDir, env, now, answer, err } = context;
  for (const name of ['events', 'follow', 'loop']) {
    if (values[name] !== undefined) {
      throw new RalphError('usage', `--${name} is for printing journals; the run of a task folder is copied whole.`);
    }
  }
  const { run, taskPath } = taskPlace(projectDir, pathOf(context));
  const named = resolve(
    typeof values['dest'] === 'string' ? values['dest'] : `ralph-logs-${now().replaceAll(':', '-')}`,
  );
  const dest = isAgent(env) ? placeForAgent(projectDir, named) : named;
  const { exported, skipped } = exportRun(run, dest);
  for (const path of skipped) err(`ralph-loop: ${path} is no plain file and stays behind.`);
  const shown = relative(process.cwd(), dest);
  answer(
    { success: true, dest, exported, skipped },
    () => `Copied ${exported.length} files of ${taskPath} to ${shown}.`,
  );
  return 0;
}

/** Restricts an agent's export to the project, outside the folders that control its client. */
function placeForAgent(projectDir: string, dest: string): string {
  const root = realpathSync(projectDir);
  const inside = projectPath(root, root, dest);
  const real = inside === null ? null : safePath(root, inside);
  const taken = real === null ? undefined : foreignSegment(relative(root, real));
  if (real !== null && taken === undefined) return real;
  throw new RalphError(
    'refused',
    taken === undefined
      ? `${dest} is outside the project. An agent exports into the project: --dest DIR. The user may name any new folder, in another terminal.`
      : `${dest} is no place for an export: ${taken} belongs to another program. Choose another: --dest DIR.`,
  );
}

function pathOf({ values, positionals }: CommandContext): string {
  const word = onePath('logs', positionals);
  const option = values['path'];
  if (word !== null && option !== undefined) throw new RalphError('usage', 'logs takes PATH or --path, not both.');
  const path = word ?? option;
  if (typeof path !== 'string' || path === '') {
    throw new RalphError('usage', 'name the task folder to export: ralph-loop logs PATH --dest DIR.');
  }
  if (values['dest'] === '') throw new RalphError('usage', '--dest is empty: name a new folder.');
  return path;
}
