import type { PreparedContract } from '../../drive/start/stages.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { counted, iterations } from '../../engine/messages.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { normaliseValidation } from '../../task/settings/build-contract.ts';
import { type Paint, printable } from '../../term/format.ts';
import { wrap } from '../../term/write-text.ts';
import { dollarText } from '../../text/figures.ts';
import { redact } from '../../text/redact/redact.ts';
import { failedShareText } from '../../text/test-results/test-summary.ts';
import { formatDuration } from '../../text/time.ts';
import { PERMISSION_MODES } from '../permission-modes.ts';

/** What the checks say before the start: they run, could not run, or have run. Null results: none is to run. */
export type FirstChecks =
  | { readonly kind: 'running'; readonly name: string }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'done'; readonly baseline: Baseline | null };

type Terms = PreparedContract['terms'];

/** A task as its user is shown it. */
export interface ShownTask {
  /** The task in one line. */
  readonly task: string;
  readonly path: string;
  readonly terms: Terms;
}

/** A start as its user is shown it. */
export interface StartScreen {
  /** One task, or several that start together. */
  readonly tasks: readonly ShownTask[];
  /** What several tasks share, in words, and limits of each that the one of all takes the place of; absent for one task. */
  readonly together?: { readonly words: string; readonly limits: readonly ('time' | 'cost')[] };
  readonly checks: FirstChecks;
  /** What the user should know before they decide. */
  readonly notes: readonly string[];
  /** Keys, or what happens now. */
  readonly foot: readonly string[];
}

/** Width of the titles on the left. */
const TITLE = 10;
/** Maximum number of lines of each part, of one task and of several: together they fit a terminal with 24 rows. */
const MOST = { Task: 2, Checks: 6, Kept: 2, Limits: 2, Agent: 3, Notes: 4 };
const MOST_OF_SEVERAL = { Task: 4, Checks: 4, Kept: 2, Limits: 3, Agent: 3, Notes: 3 };
const MOST_TESTS = 2;

/** Lays out a start in lines of a width. Pure. */
export function startScreenLines(screen: StartScreen, columns: number, paint: Paint): string[] {
  const width = Math.max(20, columns - 1);
  const { tasks, together, checks, notes } = screen;
  const parts = {
    Task: tasks.map(({ task, path }) => `${task}  ${path}`),
    Checks: ofAll(tasks, (terms) => checksOf(checks, terms)).map(redact),
    Kept: ofAll(tasks, keptOf),
    Limits: [
      ...ofAll(tasks, (terms) => [limitsOf(terms, together?.limits)]),
      ...(together === undefined ? [] : [together.words]),
    ],
    Agent: ofAll(tasks, agentOf),
    Notes: notes,
  };
  const most = tasks.length > 1 ? MOST_OF_SEVERAL : MOST;
  const rows = Object.entries(parts).flatMap(([title, texts]) =>
    rowsOf(texts, width - TITLE, most[title as keyof typeof MOST]).map((row, index) => {
      const shown = title === 'Task' && tasks.length > 1 ? 'Tasks' : title;
      return index === 0 ? paint('bold', shown.padEnd(TITLE)) + row : ' '.repeat(TITLE) + row;
    }),
  );
  return [...rows, '', ...rowsOf(screen.foot, width, 6)];
}

/** Wraps texts to at most so many rows; the last one says that there is more. */
function rowsOf(texts: readonly string[], width: number, most: number): string[] {
  const rows = texts.flatMap((text) =>
    wrap(printable(text).replace(/\s*\n\s*/g, ' '), width).map((row, index) => (index === 0 ? '' : '  ') + row.text),
  );
  if (rows.length <= most) return rows;
  const last = rows[most - 1] ?? '';
  return [...rows.slice(0, most - 1), `${last.slice(0, width - 2).trimEnd()} …`];
}

/** Returns what holds for the tasks, each line once; one that is not true of all begins with the names of those. */
function ofAll(tasks: readonly ShownTask[], of: (terms: Terms) => readonly string[]): string[] {
  const names = new Map<string, string[]>();
  for (const { terms, path } of tasks) {
    for (const text of of(terms)) names.set(text, [...(names.get(text) ?? []), terms.name ?? path]);
  }
  return [...names].map(([text, of]) => (of.length === tasks.length ? text : `${of.join(', ')}: ${text}`));
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

function resultsOf({ checks }: Baseline, { task, policy }: Terms): string[] {
  const outputs = task?.requiredOutputs ?? [];
  const lines = checks.map(({ name, outcome, tests }) => {
    if (outcome === 'passed') return `${name}: passed`;
    if (outputs.includes(name)) return `${name}: to be written`;
    if (!tests || tests.failed === 0) return `${name}: failed`;
    const names = tests.failures.slice(0, MOST_TESTS).map((test) => test.name);
    const more = tests.failed > names.length ? ', …' : '';
    return `${name}: ${failedShareText(tests)}${names.length === 0 ? '' : ` (${names.join(', ')}${more})`}`;
  });
  // A task of a plan has evidence of its own.
  const isGreen = policy.plan === undefined && checks.length > 0 && checks.every(({ outcome }) => outcome === 'passed');
  return isGreen ? [...lines, START_TEXTS.allPass] : lines;
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

function limitsOf({ policy: { maxIterations, pace, budget, plan } }: Terms, shared: readonly string[] = []): string {
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
  const words = does === undefined ? (mode ?? 'default') : `${does} (${mode})`;
  const confined = sandbox === undefined ? '' : ', in a sandbox';
  if (host !== undefined || mode === 'bypassPermissions') return [`${title}, ${words}${confined}`];
  const exact = [...normaliseValidation(terms.validation), ...(terms.task?.commands ?? [])]
    .map(({ run }) => run)
    .filter((run) => !mayRun.includes(run));
  const runs = [
    ...(mayRun.length === 0 ? [] : [`${mayRun.join(', ')}, with any arguments`]),
    ...(exact.length === 0 ? [] : [`only in these words: ${[...new Set(exact)].join(', ')}`]),
  ];
  return [`${title}, ${words}${confined}`, ...(runs.length === 0 ? [] : [`may also run ${runs.join('; ')}`])];
}
