import { join } from 'node:path';
import { reasonLines } from '../../engine/messages.ts';
import type { Run, RunTask } from '../../engine/schema/batch.ts';
import { callHere, lineHere } from '../../state/process/program.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { fittedTable, instantText, type Paint, printable, table } from '../../term/format.ts';
import { cells, columnsOf, fitText, paintedCells } from '../../term/write-text.ts';
import { countText, dollarText, timeText } from '../../text/figures.ts';
import { quoted } from '../../text/quote.ts';
import { statusWords } from '../../text/status-words.ts';

/** Returns a run for people: what it is and its status, its tasks, why it waits or ended, and what to do next. */
export function runText(run: Run, at: string, paint: Paint): string {
  return [headText(run, at, paint), '', ...taskTable(run, columnsOf(1)), ...endLines(run)].join('\n');
}

/** Returns why a run waits or ended: the unfinished tasks with their reasons, and what to do next. */
export function explainRun(run: Run, at: string, paint: Paint): string {
  const open = run.tasks.filter(({ done }) => !done);
  const rows = open.flatMap((task) => {
    const [why = '', ...more] = reasonOf(task, '');
    const head = ['', printable(task.id), statusWords(task.status), why];
    return [head, ...more.map((line) => ['', '', '', line.trim()])];
  });
  const tasks = open.length === 0 ? [] : ['', 'Not done:', table(rows)];
  return [headText(run, at, paint), ...tasks, ...endLines(run)].join('\n');
}

function headText(run: Run, at: string, paint: Paint): string {
  const { title, plan, status, live, startedAt, endedAt, atOnce } = run;
  const file = plan === null || plan === title ? '' : ` (${plan})`;
  const when = live ? `since ${instantText(startedAt, at)}` : instantText(endedAt ?? startedAt, at);
  const style = status === 'complete' ? 'green' : live ? 'cyan' : 'yellow';
  const head = `${printable(`${title}${file}`)}: ${paint(style, statusWords(status))}, ${doneText(run)} (${when})`;
  const beside = atOnce === 1 ? '' : `, at most ${atOnce} at once`;
  return `${head}${beside}`;
}

/** Counts the tasks that are done: `5 of 8 tasks done`. */
export function doneText({ done, total }: Pick<Run, 'done' | 'total'>): string {
  return `${done} of ${total} ${total === 1 ? 'task' : 'tasks'} done`;
}

function endLines(run: Run): string[] {
  const text = [run.why, run.next].filter((part) => part !== '').join(' ');
  return [...(text === '' ? [] : ['', printable(text)]), ...(run.live ? [] : branchLines(run))];
}

/** Returns how to take over what tasks have left in their own worktrees; [] if there is nothing. */
export function branchLines({ plan, tasks }: Run): string[] {
  const isOwn = plan === null && tasks.some(({ status, commit, branch }) => status === 'complete' && !commit && branch);
  if (!isOwn) return [];
  const { dir = '', isFound } = callHere().elsewhere ?? {};
  const there = `git -C ${quoted(join(dir, WORKTREES, 'NAME'))}`;
  const git = isFound === false ? `git -C ${quoted(dir)}` : 'git';
  return [
    'Each loop worked in a worktree. Commit what it has left there, look at its branch, merge it, clean up:',
    `  ${there} add -A && ${there} commit`,
    ...[`  ${git} log -p HEAD..ralph/NAME`, `  ${git} merge ralph/NAME`, `  ${lineHere('worktree remove NAME')}`],
  ];
}

type Figures = Pick<Run, 'iterations' | 'tokens' | 'costUsd' | 'durationMs'>;

const FIGURES: readonly (readonly [string, (of: Figures) => number | null, (value: number) => string])[] = [
  ['iterations', ({ iterations }) => iterations, String],
  ['tokens', ({ tokens }) => tokens, countText],
  ['cost', ({ costUsd }) => costUsd, dollarText],
  ['time', ({ durationMs }) => durationMs, timeText],
];

/** Returns the total usage of a run, on one line; '' if it is unknown. */
export function totals(run: Run): string {
  const parts = FIGURES.flatMap(([name, of, text]) => {
    const value = of(run);
    return value === null ? [] : [name.endsWith('s') ? `${text(value)} ${name}` : `${name} ${text(value)}`];
  });
  return parts.join(' · ');
}

/** Columns that a narrow table omits, in this order. */
const LESS_NEEDED = ['files', 'tokens', 'needs', 'time', 'iterations', 'commit', 'branch', 'title', 'proof', 'cost'];
const TITLE_WIDTH = 24;

/** Returns the columns of a table of tasks, each with its name and its sum; an unknown sum is empty. */
function taskColumns(run: Run): string[][] {
  const { tasks } = run;
  const column = (name: string, of: (task: RunTask) => string, sum = ''): string[][] => {
    const values = tasks.map((task) => printable(of(task)));
    return values.every((value) => value === '') ? [] : [[name, ...values, sum]];
  };
  return [
    ...column('title', ({ id, title }) => (title === id ? '' : cut(printable(title), TITLE_WIDTH))),
    ['state', ...tasks.map(({ status }) => printable(statusWords(status))), `${run.done} of ${run.total} done`],
    ...column('needs', ({ needs }) => needs.join(', ')),
    ...column('proof', ({ proof }) => proof ?? ''),
    ...column('files', ({ files }) => String(files ?? '')).map(toTheRight),
    ...FIGURES.flatMap(([name, of, text]) => {
      const shown = (value: number | null): string => (value === null ? '' : text(value));
      return column(name, (task) => shown(of(task)), shown(of(run))).map(toTheRight);
    }),
    ...(tasks.some(({ commit }) => commit)
      ? column('commit', ({ commit, branch }) => commit?.slice(0, 10) ?? branch ?? '')
      : column('branch', ({ branch }) => branch ?? '')),
  ];
}

/** Returns a row for each task, with the reason below it if it is not done, and the sums. */
export function taskTable(run: Run, width: number): string[] {
  const ids = ['task', ...run.tasks.map(({ id }) => printable(id)), 'total'];
  const lines = fittedTable([ids, ...taskColumns(run)], LESS_NEEDED, width);
  return lines.map((line, at) => [line, ...reasonOf(run.tasks[at - 1], '    ')].join('\n'));
}

/** Number of lines of a check's output shown below the line that says what failed. */
const MOST_OUTPUT = 3;

/** Returns why a task is not done and, below it, the command that shows the output, if the loop itself has it. */
function reasonOf(task: RunTask | undefined, indent: string): string[] {
  if (task?.why == null) return [];
  const loop =
    task.loop === null || task.status === 'complete'
      ? {}
      : { loop: { name: task.loop.name, mode: 'runner', ...callHere() } as const };
  return reasonLines(printable(task.why), { most: MOST_OUTPUT, indent, ...loop });
}

function cut(text: string, width: number): string {
  return cells(text) <= width ? text : `${fitText(text, width - 1).trimEnd()}…`;
}

function toTheRight(values: readonly string[]): string[] {
  const longest = Math.max(...values.map(({ length }) => length));
  return values.map((value) => value.padStart(longest));
}

const HEAD = 'RUN,FILE,STATE,TASKS,ITERATIONS,COST,STARTED,ENDED'.split(',');

/** Lists runs, one per line, or as blocks if lines would wrap. */
export function runTable(runs: readonly Run[], at: string, paint: Paint): string {
  const rows = runs.map(
    ({ title, plan, status, live, done, total, iterations, costUsd, startedAt, endedAt, atOnce }) => [
      printable(title),
      plan === null || plan === title ? '' : printable(plan),
      paint(live ? 'green' : 'bold', statusWords(status)) + (live && atOnce > 1 ? `, ${atOnce} at once` : ''),
      `${done} of ${total}`,
      iterations === null ? '' : String(iterations),
      costUsd === null ? '' : dollarText(costUsd),
      live ? instantText(startedAt, at) : '',
      endedAt === null ? '' : instantText(endedAt, at),
    ],
  );
  return listTable(HEAD, rows, paint);
}

/** Lists rows below a head, without empty columns; as blocks headed by their first cells if lines would wrap. */
export function listTable(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string {
  // An empty column would only make the lines wrap.
  const told = head.map((_, index) => rows.some((row) => row[index] !== ''));
  const shown = (row: readonly string[]): string[] => row.filter((_, index) => told[index]);
  const wide = table([
    shown(head).map((title) => paint('dim', title)),
    ...rows.map((row) => shown(row).map((cell) => cell || '-')),
  ]);
  const fits = wide.split('\n').every((line) => paintedCells(line) <= columnsOf(1));
  return fits ? wide : rows.map((row) => block(head, row, paint)).join('\n\n');
}

function block(head: readonly string[], [name = '', ...cells]: readonly string[], paint: Paint): string {
  const told = cells.flatMap((cell, index) => {
    const title = head[index + 1] ?? '';
    return cell === '' ? [] : [['', paint('dim', title.toLowerCase()), cell]];
  });
  return [name, table(told)].join('\n');
}
