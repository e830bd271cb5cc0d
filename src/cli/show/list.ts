import { dollarText } from '../../engine/messages.ts';
import { instantText } from '../../term/figures.ts';
import { type Paint, painter, printable } from '../../term/paint.ts';
import { cellsOf, table } from '../../term/table.ts';
import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import type { Command, CommandContext } from '../command.ts';
import { type ListedLoop, listedLoops } from './listed-loops.ts';
import { checklistText } from './status.ts';
import type { Status } from './status-of.ts';

export const LIST_COMMAND: Command = {
  name: 'list',
  summary: 'All loops of this project, live, ended, or not begun.',
  usage: '',
  help: 'Lists the default loop and the named ones, those of task folders, loop directories and worktrees among them, whatever drives them: what each works on, how it stands and since when, who has it, what it has cost, and how the one before it ended.',
  options: {},
  control: false,
  run(context) {
    const loops = listedLoops(context);
    context.out(context.forPeople ? forReading(loops, context) : JSON.stringify({ loops }, null, 2));
    return 0;
  },
};

const HEAD = [
  'LOOP',
  'TASK',
  'NOW',
  'ITERATIONS',
  'CHECKLIST',
  'COST',
  'HELD BY',
  'SINCE',
  'LAST SEEN',
  'LAST ENDED AS',
];

function forReading(loops: readonly ListedLoop[], { now, env, forPeople }: CommandContext): string {
  if (loops.length === 0) return 'There has been no loop in this project. Start one: main.cjs start.';
  const paint = painter(forPeople, env);
  const at = now();
  const rows = loops.map((loop) => {
    const { name, path, status, heartbeat, live, lastLoop, costUsd, worktree } = loop;
    return [
      `${name ?? '(default)'}${worktree === null ? '' : ' (worktree)'}`,
      path === null ? '' : printable(path),
      live === null ? plainStatus(status) : paint(live.clientAlive === false ? 'red' : 'green', stateOf(live)),
      live === null ? '' : `${live.iteration}/${live.maxIterations}`,
      listText((live ?? lastLoop)?.checklist),
      costUsd === null ? '' : dollarText(costUsd),
      live === null ? '' : holderText(loop),
      live === null ? '' : instantText(live.startedAt, at),
      live === null ? '' : instantText(lastSeen(live.lastRunAt, heartbeat), at),
      lastLoop === null ? '' : `${lastLoop.status}, ${instantText(lastLoop.endedAt, at)}`,
    ];
  });
  // A column that says nothing of any loop would only make the lines wrap.
  const told = HEAD.map((_, index) => rows.some((row) => row[index] !== ''));
  const shown = (row: readonly string[]): string[] => row.filter((_, index) => told[index]);
  const wide = table([shown(HEAD).map((title) => paint('dim', title)), ...rows.map((row) => shown(row).map(orDash))]);
  const fits = wide.split('\n').every((line) => cellsOf(line) <= (process.stdout.columns || 80));
  return fits ? wide : rows.map((row) => block(row, paint)).join('\n\n');
}

/** A loop below its name, where a line for each would be broken by the terminal. */
function block([name = '', ...cells]: readonly string[], paint: Paint): string {
  const told = cells.flatMap((cell, index) => {
    const title = HEAD[index + 1] ?? '';
    return cell === '' ? [] : [['', paint('dim', title.toLowerCase()), cell]];
  });
  return [name, table(told)].join('\n');
}

function listText(checklist: ChecklistCount | undefined): string {
  return checklist === undefined ? '' : checklistText(checklist);
}

function orDash(cell: string): string {
  return cell === '' ? '-' : cell;
}

/** How the last one ended has a column of its own. */
function plainStatus(status: string): string {
  return status === 'not-started' || status === 'unreadable' ? status.replace('-', ' ') : '';
}

function holderText({ holder, mode }: ListedLoop): string {
  return holder === null ? (mode ?? '') : `${mode} ${holder.pid}`;
}

/** The end of its last turn, or a sign of life since then. */
function lastSeen(lastRunAt: string, heartbeat: string | null): string {
  return heartbeat !== null && Date.parse(heartbeat) > Date.parse(lastRunAt) ? heartbeat : lastRunAt;
}

function stateOf(live: Extract<Status, { active: true }>): string {
  return live.clientAlive === false
    ? `${live.status}, ${live.mode === 'runner' ? 'runner' : 'client'} gone`
    : live.status;
}
