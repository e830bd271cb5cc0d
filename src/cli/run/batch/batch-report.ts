import type { BatchTask } from '../../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import type { PlanEnd } from '../../../drive/parallel/plan-entry.ts';
import type { BatchEnd } from '../../../drive/parallel/side-by-side-runner.ts';
import { withPrefix } from '../../../drive/turn/messages.ts';
import { worktreePlaces } from '../../../drive/worktree/worktree-place.ts';
import { counted } from '../../../engine/messages.ts';
import { printable, table } from '../../../term/format.ts';
import { cells } from '../../../term/write-text.ts';
import { countText, dollarText, timeText } from '../../../text/figures.ts';
import { advise } from '../../../text/message.ts';

/** Returns a task as `--json` prints it. */
export function published({ name, taskPath, planTask, step, end }: BatchTask): object {
  return {
    loop: name,
    taskPath,
    ...(planTask !== undefined && { task: planTask }),
    step,
    branch: `ralph/${name}`,
    ...end,
  };
}

const OWN_BRANCHES = [
  withPrefix('each loop worked on its own branch. Look at one, merge it, clean up:'),
  ...['  git log -p HEAD..ralph/NAME', '  git merge ralph/NAME', '  ralph-loop worktree remove NAME'],
];

/** Returns the report at the end of a run; its table has at most `width` columns if possible. */
export function reportLines(
  { tasks, refused, plan }: BatchEnd & { readonly plan?: PlanEnd },
  projectDir: string,
  columns: number,
): string[] {
  const there = worktreePlaces(projectDir).map(({ name }) => name);
  const isOwn = plan === undefined;
  const done = tasks.filter(
    ({ name, end }) => isOwn && end !== null && end.integrated === null && there.includes(name),
  );
  const open = tasks.some(({ step }) => step !== 'ended');
  return [
    ...(tasks.length === 0 ? [] : taskTable(tasks, there, columns)),
    ...(refused === null ? [] : [withPrefix(`the shared budget is used up: ${refused}.`)]),
    ...(plan === undefined ? [] : [withPrefix(plan.message, { name: null, mode: 'runner' })]),
    ...(done.length === 0 ? [] : OWN_BRANCHES),
    ...(isOwn && open ? [withPrefix(advise('not all tasks have ended.', 'Resume them', 'run --resume'))] : []),
  ];
}

type End = NonNullable<BatchTask['end']>;

const FIGURES: readonly (readonly [string, (end: End) => number | null, (value: number) => string])[] = [
  ['iterations', ({ iterations }) => iterations, String],
  ['tokens', ({ tokens }) => tokens || null, countText],
  ['cost', ({ costUsd }) => costUsd, dollarText],
  ['time', ({ durationMs }) => durationMs, timeText],
];

/** Returns the figures that are known for any task: the name, the value for each task, and the sum. */
function figuresOf(tasks: readonly BatchTask[]): { name: string; values: string[]; sum: string }[] {
  return FIGURES.flatMap(([name, of, text]) => {
    const values = tasks.map(({ end }) => (end === null ? null : of(end)));
    if (values.every((value) => value === null)) return [];
    const sum = values.reduce<number>((all, value) => all + (value ?? 0), 0);
    return [{ name, values: values.map((value) => (value === null ? '' : text(value))), sum: text(sum) }];
  });
}

/** Returns the total usage of all tasks, on one line. */
export function totals(tasks: readonly BatchTask[]): string {
  const parts = figuresOf(tasks).map(({ name, sum }) => (name.endsWith('s') ? `${sum} ${name}` : `${name} ${sum}`));
  return parts.length === 0 ? '' : `${parts.join(' · ')} in total`;
}

/** Columns that a narrow table goes without, the first one first. */
const LESS_NEEDED = ['branch', 'tokens', 'iterations'];

/** Returns a row for each task, with the reason below it if it is not done, and the sums. What is unknown has no column. */
function taskTable(tasks: readonly BatchTask[], there: readonly string[], width: number): string[] {
  const column = (name: string, of: (task: BatchTask) => string): string[][] => {
    const values = tasks.map(of);
    return values.every((value) => value === '') ? [] : [[name, ...values]];
  };
  const figures = figuresOf(tasks).map(({ name, values, sum }) => toTheRight([name, ...values, sum]));
  const named = ['task', ...tasks.map(({ planTask, name }) => planTask ?? name), 'total'];
  const outcomes = tasks.map(({ end }) => end?.status ?? PARALLEL_TEXTS.notStarted);
  const columns = [
    ['outcome', ...outcomes, `${counts(tasks)} complete`],
    ...column('proof', ({ end }) => end?.proved?.proof ?? ''),
    ...column('files', ({ end }) => String(end?.proved?.files ?? '')).map(toTheRight),
    ...figures,
    ...column('branch', (task) => whereOf(task, there)),
  ];
  const without = (left: number, first: readonly string[]): string[] => {
    const shown = columns.filter(([name = '']) => !LESS_NEEDED.slice(0, left).includes(name.trim()));
    return table(named.map((_, at) => [first, ...shown].map((cells) => cells[at] ?? ''))).split('\n');
  };
  const drawn = [0, 1, 2, 3].map((left) => without(left, named));
  // A name that leaves no room gets a line of its own.
  const stacked = without(1, ['']).map((line, at) => `${named[at]}\n${line}`);
  const fits = drawn.find((lines) => lines.every((line) => cells(line) <= width)) ?? stacked;
  return fits.map((line, at) => [line, ...reasonLines(tasks[at - 1])].join('\n'));
}

function toTheRight(cells: readonly string[]): string[] {
  const longest = Math.max(...cells.map(({ length }) => length));
  return cells.map((cell) => cell.padStart(longest));
}

function reasonLines(task: BatchTask | undefined): string[] {
  return task === undefined ? [] : whyOf(task).flatMap((why) => why.split('\n').map((line) => `    ${line}`));
}

export function counts(tasks: readonly BatchTask[]): string {
  return `${tasks.filter(({ end }) => end?.status === 'complete').length} of ${tasks.length}`;
}

/** Returns why a task is not done; nothing if it is, or has not begun. */
export function whyOf({ end }: BatchTask): string[] {
  return end === null || end.code === 0 ? [] : [printable(end.problem ?? end.message)];
}

/** Returns what a task rests on: `still-green, 2 files changed`; '' if that is unknown. */
export function provedText({ end }: BatchTask): string {
  const { proof = '', files = null } = end?.proved ?? {};
  return files === null ? proof : `${proof}, ${counted(files, 'file')} changed`;
}

/** Returns the commit of an integrated task, or the branch of an existing worktree. */
export function whereOf({ name, end }: BatchTask, there: readonly string[]): string {
  return end?.commit ?? (there.includes(name) ? `ralph/${name}` : '');
}
