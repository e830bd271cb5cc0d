import type { PreparedContract } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { iterations } from '../../engine/messages.ts';
import { isGreen } from '../../engine/policy/proof.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { normaliseValidation } from '../../task/settings/build-contract.ts';
import { type Paint, printable } from '../../term/format.ts';
import { wrap } from '../../term/write-text.ts';
import { counted, dollarText } from '../../text/figures.ts';
import { redact } from '../../text/redact/redact.ts';
import { failedShareText } from '../../text/test-results/test-summary.ts';
import { formatDuration } from '../../text/time.ts';
import { PERMISSION_MODES } from '../permission-modes.ts';

/** State of the checks before the start: running, could not run, or have run. Null results: none are to run. */
export type FirstChecks =
  | { readonly kind: 'running'; readonly name: string }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'done'; readonly baseline: Baseline | null };

type Terms = PreparedContract['terms'];

export interface ShownTask {
  readonly task: string;
  readonly path: string;
  readonly terms: Terms;
}

export interface StartScreen {
  /** One task, or several that start together. */
  readonly tasks: readonly ShownTask[];
  /** What several tasks share, in words, and the limits of each that a common one replaces; absent for one task. */
  readonly together?: { readonly words: string; readonly limits: readonly ('time' | 'cost')[] };
  readonly checks: FirstChecks;
  /** What the user should know before deciding. */
  readonly notes: readonly string[];
  /** Keys, or what is happening now. */
  readonly foot: readonly string[];
}

const TITLE = 10;
/** Number of lines that each part has in any terminal: together they fit into 24 rows. */
const MOST = { Task: 3, Checks: 5, Kept: 2, Limits: 3, Agent: 3, Notes: 3 };
/** Parts in the order in which they get the remaining rows: first what the user agrees to. */
const BY_WEIGHT = ['Agent', 'Checks', 'Limits', 'Kept', 'Notes', 'Task'] as const;
const MOST_NAMES = 4;
const MOST_TESTS = 2;

/** A text of the screen, and the names of the tasks to which it applies. */
interface Line {
  readonly text: string;
  readonly of: readonly string[];
}

/** Content of a part: texts that are always shown in full, and texts that are shown as far as there are rows. */
interface Part {
  readonly always?: readonly Line[];
  readonly lines: readonly Line[];
}

/** Lays out a start in lines of a width. What does not fit into `rows` is cut, with a note. Pure. */
export function startScreenLines(screen: StartScreen, columns: number, paint: Paint, rows = 24): string[] {
  const width = Math.max(20, columns - 1);
  const { tasks, together, checks, notes } = screen;
  const parts: Record<keyof typeof MOST, Part> = {
    Task: { lines: taskLines(tasks) },
    Checks: { lines: ofAll(tasks, (terms) => checksOf(checks, terms).map(redact)) },
    Kept: { lines: ofAll(tasks, keptOf) },
    Limits: {
      always: together === undefined ? [] : [{ text: together.words, of: [] }],
      lines: ofAll(tasks, (terms) => [limitsOf(terms, together?.limits)]),
    },
    Agent: {
      always: ofAll(tasks, (terms) => agentOf(terms).slice(0, 1)),
      lines: ofAll(tasks, (terms) => agentOf(terms).slice(1)),
    },
    Notes: { lines: notes.map((text) => ({ text, of: [] })) },
  };
  const foot = partRows({ lines: screen.foot.map((text) => ({ text, of: [] })) }, width, 6);
  // The blank line, and the one with the cursor.
  const most = mostRows(parts, width - TITLE, rows - foot.length - 2);
  const shown = Object.entries(parts).flatMap(([part, lines]) => {
    const title = part === 'Task' && tasks.length > 1 ? 'Tasks' : part;
    const texts = partRows(lines, width - TITLE, most[part as keyof typeof MOST]);
    return texts.map((row, index) => (index === 0 ? paint('bold', title.padEnd(TITLE)) : ' '.repeat(TITLE)) + row);
  });
  return [...shown, '', ...foot];
}

/** Returns a line for each task, or the names of many tasks in one line. */
function taskLines(tasks: readonly ShownTask[]): Line[] {
  const names = tasks.map(nameOf);
  if (tasks.length > MOST.Task) return [{ text: names.join(', '), of: names }];
  return tasks.map((task) => ({ text: `${task.task}  ${task.path}`.trim(), of: [nameOf(task)] }));
}

/** Returns how many rows each part may take if rows that one part does not need go to parts that need more. */
function mostRows(parts: Readonly<Record<keyof typeof MOST, Part>>, width: number, rows: number): typeof MOST {
  const needs = BY_WEIGHT.map(
    (title) => [title, partRows(parts[title], width, Number.POSITIVE_INFINITY).length] as const,
  );
  let spare = rows - needs.reduce((sum, [title, need]) => sum + Math.min(need, MOST[title]), 0);
  const given = { ...MOST };
  for (const [title, need] of needs) {
    const more = Math.max(0, Math.min(spare, need - given[title]));
    given[title] += more;
    spare -= more;
  }
  return given;
}

/** Returns at most that many rows, or more if more are always shown; the last one says what is missing. */
function partRows({ always = [], lines }: Part, width: number, most: number): string[] {
  const kept = always.flatMap(({ text }) => wrapped(text, width));
  const rows = lines.flatMap((line) => wrapped(line.text, width).map((text) => ({ text, line })));
  const space = most - kept.length;
  if (rows.length <= space) return [...kept, ...rows.map(({ text }) => text)];
  const shown = rows.slice(0, Math.max(0, space - 1));
  const next = rows[shown.length];
  const hidden = new Set(rows.slice(shown.length).flatMap(({ line }) => line.of));
  const named = [...shown, ...(shown.length > 0 || next === undefined ? [] : [next])].flatMap(({ line }) => line.of);
  const others = [...hidden].filter((name) => !named.includes(name));
  const last = others.length > 0 ? `and ${counted(others.length, 'more task')}` : cutShort(next?.text ?? '', width);
  const isCut = others.length > 0 && shown.at(-1)?.line === next?.line;
  const texts = shown.map(({ text }, at) => (isCut && at === shown.length - 1 ? cutShort(text, width) : text));
  return [...kept, ...texts, last];
}

function cutShort(text: string, width: number): string {
  return `${text.slice(0, width - 2).trimEnd()} …`;
}

/** Wraps a text between words, but never between a key and what it does. Further rows are indented. */
function wrapped(text: string, width: number): string[] {
  const line = printable(text)
    .replace(/\s*\n\s*/g, ' ')
    .replace(/(?<=^| {2})\[\w+\](?: \S+)+/g, (key) => key.replaceAll(' ', '\u00a0'));
  const whole = wrap(line, width);
  const rows = whole.length === 1 ? whole : wrap(line, width - 2);
  return rows.map((row, index) => (index === 0 ? '' : '  ') + row.text.replaceAll('\u00a0', ' ').trim());
}

function nameOf({ terms, path }: ShownTask): string {
  return terms.name ?? path;
}

/** Returns what applies to the tasks, each line once; if not to all of them, beginning with the names. */
function ofAll(tasks: readonly ShownTask[], of: (terms: Terms) => readonly string[]): Line[] {
  const names = new Map<string, string[]>();
  for (const task of tasks) {
    for (const text of of(task.terms)) names.set(text, [...(names.get(text) ?? []), nameOf(task)]);
  }
  return [...names].map(([text, of]) => ({
    text: of.length === tasks.length ? text : `${namedTasks(of)}: ${text}`,
    of,
  }));
}

function namedTasks(names: readonly string[]): string {
  if (names.length <= MOST_NAMES) return names.join(', ');
  return `${names.slice(0, MOST_NAMES - 1).join(', ')} and ${names.length - MOST_NAMES + 1} more`;
}

function checksOf(checks: FirstChecks, terms: Terms): string[] {
  switch (checks.kind) {
    case 'problem':
      return [checks.text];
    case 'running':
      return commandsOf(terms).map((name) => (name === checks.name ? `${name}: running …` : `${name}: to be run`));
    case 'done':
      if (checks.baseline !== null) return resultsOf(checks.baseline, terms);
      return commandsOf(terms).length === 0 ? [START_TEXTS.noChecks] : [`${commandsOf(terms).join(', ')}: not run yet`];
    default:
      return checks satisfies never;
  }
}

/** Returns the names of the commands that have to pass. */
function commandsOf({ validation, task }: Terms): string[] {
  const accepted = task?.gate === 'required' ? task.commands.filter(({ acceptance }) => acceptance) : [];
  return [...accepted, ...normaliseValidation(validation)].map(({ name }) => name);
}

function resultsOf(baseline: Baseline, { task, policy }: Terms): string[] {
  const outputs = task?.requiredOutputs ?? [];
  const lines = baseline.checks.map(({ name, outcome, tests }) => {
    if (outcome === 'passed') return `${name}: passed`;
    if (outputs.includes(name)) return `${name}: to be written`;
    if (!tests || tests.failed === 0) return `${name}: failed`;
    const names = tests.failures.slice(0, MOST_TESTS).map((test) => test.name);
    const more = tests.failed > names.length ? ', …' : '';
    return `${name}: ${failedShareText(tests)}${names.length === 0 ? '' : ` (${names.join(', ')}${more})`}`;
  });
  // A task of a plan needs evidence of its own.
  return policy.plan === undefined && isGreen(baseline) ? [...lines, START_TEXTS.allPass] : lines;
}

function keptOf({ unchanged = [], guardrails }: Terms): string[] {
  const closed = guardrails.protectedFiles.map((glob) => (glob.startsWith('policy:') ? 'files with secrets' : glob));
  return [
    ...(unchanged.length === 0
      ? []
      : [`${unchanged.join(', ')} ${unchanged.length === 1 ? 'stays as it is' : 'stay as they are'}`]),
    ...(closed.length === 0 ? [] : [`the agent does not write ${closed.join(', ')}`]),
  ];
}

/** Returns the limits of a loop in one line, without those that several tasks share. */
export function limitsOf(
  { policy: { maxIterations, pace, budget, plan } }: Pick<Terms, 'policy'>,
  shared: readonly string[] = [],
): string {
  const { maxTimeMs: time, maxCostUsd: cost } = budget;
  const each = pace.iterationTimeoutMs;
  return [
    ...(plan === undefined ? [] : [counted(plan.maxTasks, 'task')]),
    iterations(maxIterations),
    each === null ? 'each without a limit' : `${formatDuration(each)} each`,
    ...(shared.includes('time') ? [] : [time === null ? 'no time limit' : `${formatDuration(time)} in all`]),
    ...(shared.includes('cost') ? [] : [cost === null ? 'no cost limit' : dollarText(cost)]),
  ].join(', ');
}

function agentOf({ agent, host, client, clientVersion, sandbox, mayRun = [], ...terms }: Terms): string[] {
  if (agent !== undefined) return [`the command ${agent}, without guardrails`];
  const mode = client?.permissionMode ?? null;
  const does = PERMISSION_MODES.find(({ name }) => name === mode)?.does;
  const title = [hostOf(host).title, ...(clientVersion === null ? [] : [clientVersion])].join(' ');
  // Without a mode of its own, the loop runs in a session that the user begins.
  const unset = host === undefined ? 'in the permission mode of its session' : 'default';
  const words = does === undefined ? (mode ?? unset) : `${does} (${mode})`;
  const confined = sandbox === undefined ? '' : ', in a sandbox';
  if (host !== undefined || mode === 'bypassPermissions') return [`${title}, ${words}${confined}`];
  const exact = [...normaliseValidation(terms.validation), ...(terms.task?.commands ?? [])]
    .map(({ run }) => run)
    .filter((run) => !mayRun.includes(run));
  const runs = [
    ...(mayRun.length === 0 ? [] : [`${mayRun.join(', ')}, with any arguments`]),
    ...(exact.length === 0 ? [] : [`${[...new Set(exact)].join(', ')}, exactly as written`]),
  ];
  return [`${title}, ${words}${confined}`, ...(runs.length === 0 ? [] : [`may also run ${runs.join('; ')}`])];
}
