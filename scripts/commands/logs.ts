import { existsSync } from 'node:fs';
import { RalphError } from '../../src/core/ralph-error.ts';
import { lastLoopIn } from '../../src/drive/task-loop-name.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';
import { readOn } from '../../src/state/read-all-lines.ts';
import type { Lines } from '../../src/state/read-lines.ts';
import type { AdvisedLoop } from '../../src/term/for-loop.ts';
import { painter } from '../../src/term/paint.ts';
import type { Command, CommandContext } from './command.ts';
import { exportLogs, wantsExport } from './export-logs.ts';
import { iterationColumns, iterationTable } from './iteration-table.ts';
import { advisedEntry, journalLine } from './journal-line.ts';
import { lastIterations } from './last-iterations.ts';
import { liveLoops } from './live-loops.ts';

/** How often `--follow` looks: quick for people, nothing for the machine. */
const POLL_MS = 500;

export const LOGS_COMMAND: Command = {
  name: 'logs',
  summary: 'What happened: iterations and events.',
  usage: '[--events | --iterations] [--follow] [--loop NAME] | [PATH] [--dest DIR]',
  help: 'Prints the journals of the default loop, or of the one that --loop names, in the order of time: each iteration, and each event (started, paused, claim rejected, ended and so on). One line each for people; JSON lines as they lie in the journals where standard output is no terminal or with --json. With --iterations a table of the iterations alone, of the last loop here: in a terminal with small bars for time, cost, tokens and findings, in a pipe every figure in plain columns. With the PATH of a task folder or its RALPH.md it copies that run instead: status.json, iterations.jsonl, events.jsonl and transcripts, into a new folder. Links and flags stay behind, and nothing is overwritten. An agent exports into the project only.',
  options: {
    events: { type: 'boolean', help: 'Events only.' },
    iterations: { type: 'boolean', help: 'A table of the iterations, with what each took and cost.' },
    follow: { type: 'boolean', short: 'f', help: 'Go on until Ctrl+C.' },
    path: { type: 'string', short: 'p', value: 'PATH', help: 'The task folder to export; the same as PATH.' },
    dest: { type: 'string', short: 'd', value: 'DIR', help: 'Where to; without it ./ralph-logs-TIME.' },
  },
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
    const loop = { name: files.name, mode: lastLoopIn(files)?.mode ?? 'hook' };
    let told = false;
    for (;;) {
      const read = journals.map(readNew);
      const torn = read.reduce((sum, lines) => sum + lines.torn, 0);
      if (torn > 0) err(`ralph: ${torn === 1 ? 'one line is' : `${torn} lines are`} unreadable and left out.`);
      const entries = read.flatMap(({ entries }) => entries).sort((a, b) => time(a).localeCompare(time(b)));
      for (const entry of entries) print(entry, loop, context);
      if (values['follow'] !== true) {
        if (entries.length === 0 && context.forPeople) {
          context.out('Nothing has been recorded yet. main.cjs list shows all loops; --loop NAME prints those of one.');
        }
        return 0;
      }
      if (!told && entries.length === 0) err('ralph: nothing yet; waiting.');
      told = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  },
};

/** The iterations of the loop that wrote last. */
function tableOf(files: LoopFiles, { values, env, forPeople, out, err }: CommandContext): number {
  for (const other of ['events', 'follow']) {
    if (values[other] === true) throw new RalphError('usage', `--iterations is a table, and takes no --${other}.`);
  }
  const { entries, torn } = lastIterations(files);
  if (torn > 0) err(`ralph: ${torn === 1 ? 'one line is' : `${torn} lines are`} unreadable and left out.`);
  if (values['json'] === true) for (const entry of entries) out(JSON.stringify(entry));
  else if (entries.length === 0) err('ralph: no iteration has been recorded yet. main.cjs list shows all loops.');
  else out(forPeople ? iterationTable(entries, painter(true, env)) : iterationColumns(entries));
  return 0;
}

/** The loop that was named, else the default one; where that has recorded nothing, the only loop that is live. */
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

/** Everything that was added since the last look, however much it is. */
function readNew(journal: Journal): Lines {
  const lines = readOn(journal.path, journal.next);
  journal.next = lines.next;
  return lines;
}

function print(
  entry: Readonly<Record<string, unknown>>,
  loop: AdvisedLoop,
  { forPeople, env, out }: CommandContext,
): void {
  out(forPeople ? journalLine(advisedEntry(entry, loop), env) : JSON.stringify(entry));
}

/** An event has one instant; an iteration stands where it ended. */
function time(entry: Readonly<Record<string, unknown>>): string {
  return String(entry['at'] ?? entry['endedAt'] ?? '');
}
