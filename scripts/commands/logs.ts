import { type Lines, readLines } from '../../src/state/read-lines.ts';
import type { Command, CommandContext } from './command.ts';
import { journalLine } from './journal-line.ts';

/** How often `--follow` looks: quick for people, nothing for the machine. */
const POLL_MS = 500;

export const LOGS_COMMAND: Command = {
  name: 'logs',
  summary: 'What happened: iterations and events.',
  usage: '[--events] [--follow] [--loop NAME]',
  help: 'Prints the journals of the loop in the order of time: each iteration, and each event (started, paused, claim rejected, ended and so on). One line each for people; JSON lines as they lie in the journals where standard output is no terminal or with --json.',
  options: {
    events: { type: 'boolean', help: 'Events only.' },
    follow: { type: 'boolean', short: 'f', help: 'Go on until Ctrl+C.' },
  },
  control: false,
  async run(context) {
    const { files, values, err } = context;
    const journals = [
      { path: files.events, next: 0 },
      ...(values['events'] === true ? [] : [{ path: files.iterations, next: 0 }]),
    ];
    let told = false;
    for (;;) {
      const read = journals.map(readNew);
      const torn = read.reduce((sum, lines) => sum + lines.torn, 0);
      if (torn > 0) err(`ralph: ${torn === 1 ? 'one line is' : `${torn} lines are`} unreadable and left out.`);
      const entries = read.flatMap(({ entries }) => entries).sort((a, b) => time(a).localeCompare(time(b)));
      for (const entry of entries) print(entry, context);
      if (values['follow'] !== true) {
        if (entries.length === 0 && context.forPeople) context.out('Nothing has been recorded yet.');
        return 0;
      }
      if (!told && entries.length === 0) err('ralph: nothing yet; waiting.');
      told = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  },
};

interface Journal {
  readonly path: string;
  next: number;
}

/** Everything that was added since the last look, however much it is. */
function readNew(journal: Journal): Pick<Lines, 'entries' | 'torn'> {
  const entries: Record<string, unknown>[] = [];
  let torn = 0;
  for (;;) {
    const lines = readLines(journal.path, journal.next);
    for (const entry of lines.entries) entries.push(entry);
    torn += lines.torn;
    const done = lines.next === journal.next;
    journal.next = lines.next;
    if (done) return { entries, torn };
  }
}

function print(entry: Readonly<Record<string, unknown>>, { forPeople, env, out }: CommandContext): void {
  out(forPeople ? journalLine(entry, env) : JSON.stringify(entry));
}

/** An event has one instant; an iteration stands where it ended. */
function time(entry: Readonly<Record<string, unknown>>): string {
  return String(entry['at'] ?? entry['endedAt'] ?? '');
}
