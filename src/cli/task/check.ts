import { existsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { StartProblems } from '../../drive/start/examine-start.ts';
import { settingsOf } from '../../drive/start/read-settings.ts';
import { show } from '../../state/process/program.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { BY_FILE, type EffectiveValues } from '../../task/settings/defaults.ts';
import { durationOf, KEY_PATHS, type Source, valueAt } from '../../task/settings/resolve-policy.ts';
import { DEFAULT_TASK, RALPH_FILE, type TaskKind, taskFileIn } from '../../task/task-file.ts';
import { printable, table } from '../../term/format.ts';
import { columnsOf } from '../../term/write-text.ts';
import { advise, type Message, RalphError } from '../../text/message.ts';
import { excerpt } from '../../text/quote.ts';
import { redactRecord } from '../../text/redact/redact.ts';
import { formatDuration } from '../../text/time.ts';
import { pathNamed, readTaskText } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { LEFT } from '../start/first-checks.ts';
import { examineFile, type TriedChecks, tryChecks } from './try-checks.ts';

export const CHECK_COMMAND: Command = {
  name: 'check',
  usage: '[PATH]',
  help: `Checks a task file as start would, without starting anything. PATH is a task file, a task folder or the name of a loop directory; the default is ${DEFAULT_TASK}. What run would refuse before it runs a check is an error, with exit code 1; a note names what run asks its user for.`,
  example: 'ralph-loop check tasks/docs',
  options: options({
    run: 'Also run its checks once, and say if they can show that the task is done.',
    'arg NAME=VALUE...': 'Value of an argument of the task, for --run.',
  }),
  async run(context) {
    const [given, ...more] = context.positionals;
    if (more.length > 0) throw new RalphError('usage', 'check takes one file.');
    const named =
      given === undefined ? resolve(context.projectDir, DEFAULT_TASK) : resolve(pathNamed(context.projectDir, given));
    const isFolder = existsSync(named) && statSync(named).isDirectory();
    const inside = (isFolder ? taskFileIn(named) : null) ?? RALPH_FILE;
    const path = isFolder ? join(named, inside) : named;
    const shown = given !== undefined && resolve(given) !== named ? relative(process.cwd(), named) : given;
    const file = isFolder ? join(shown ?? '', inside) : (shown ?? DEFAULT_TASK);
    const { projectDir: dir, env } = context;
    const checked = checkTaskFile(path, readTaskText(path, file, howToGet(file)), undefined, { dir, env });
    const { kind, frontmatter } = checked;
    const resolved = settingsOf(dir, relative(dir, path), kind !== 'prompt', { kind, env, frontmatter });
    const found = [...checked.problems, ...resolved.problems];
    const started = found.some(isError) ? null : examineFile(context, path);
    const problems = [...found, ...(started === null ? [] : startProblems(started))];
    const ok = !problems.some(isError);
    const hasSettings = resolved.ok && frontmatter !== null;
    const settings = hasSettings ? redactRecord(settingsIn(resolved.values, resolved.sources)) : {};
    const isToRun = context.values['run'] === true;
    const tried = isToRun && ok && started !== null ? await runNow(context, started) : NOT_TRIED;
    if (tried === null) return LEFT;
    const needs = (started?.needs ?? []).map(({ message }) => `Note: ${show(message)}`);
    const unrun = isToRun && tried === NOT_TRIED ? [NOT_RUN] : [];
    const notes = [...unrun, ...needs, ...(ok && resolved.ok && isUnmeasured(resolved.values) ? [UNMEASURED] : [])];
    const { checks, lines } = tried;
    context.answer({ ok, file, kind, problems, notes, settings, ...(checks && { checks }) }, () =>
      [problemsText(file, problems, context), ...lines, ...notes, ...settingsText(settings, kind)].join('\n'),
    );
    return ok && tried.problems.length === 0 ? 0 : 1;
  },
};

const NOT_RUN = 'Note: Its checks were not run, because the task cannot be started as it is.';
const NOT_TRIED: TriedChecks = { checks: undefined, problems: [], lines: [] };

/** Returns refusals as problems; what only a session refuses is a warning. */
export function startProblems({ refusal, inSession, unmatched }: StartProblems): Problem[] {
  const at = { path: '', line: null, column: null, value: null, rule: 'start' };
  const problem = (message: string | null, severity: Problem['severity']): Problem[] =>
    message === null ? [] : [{ ...at, message, severity }];
  return [
    ...problem(refusal && show(refusal), 'error'),
    ...problem(inSession && `In a session: ${show(inSession)}`, 'warning'),
    ...problem(unmatched, 'warning'),
  ];
}

const isError = ({ severity }: Problem): boolean => severity === 'error';

function runNow(context: CommandContext, started: StartProblems): Promise<TriedChecks | null> {
  // The agent may have written the file: a command that only reads must not run its commands.
  if (isAgent(context.env)) throw new RalphError('refused', 'only the user can run the checks of a task file.');
  return tryChecks(context, started);
}

/** A note, not a warning: work on documents may not be measurable by commands. */
const UNMEASURED =
  'Note: no command and no required output measures the work, so the agent decides. If a command can, add it under "validation:".';

function isUnmeasured(values: EffectiveValues): boolean {
  const { completion_promise, completion_signal, validation, commands, required_outputs } = values;
  const checks = [...validation, ...required_outputs, ...commands.filter(({ acceptance }) => acceptance === true)];
  return (completion_promise ?? completion_signal) !== null && checks.length === 0;
}

function howToGet(file: string): Message {
  return file === DEFAULT_TASK
    ? advise('', 'Create one to fill in', 'init')
    : advise(' Name a task file or a task folder.', 'Create one', 'scaffold NAME');
}

function problemsText(file: string, problems: readonly Problem[], { paint }: CommandContext): string {
  if (problems.length === 0) return `${file} is fine.`;
  return problems
    .map(({ line, column, severity, message }) => {
      const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
      return `${place}: ${paint(severity === 'error' ? 'red' : 'yellow', severity)}: ${printable(message)}`;
    })
    .join('\n');
}

interface Setting {
  /** Durations as text: `5m`. */
  readonly value: unknown;
  readonly source: Source;
}

/** Returns the effective value of every key that is not a group, by path. */
function settingsIn(values: EffectiveValues, sources: Readonly<Record<string, Source>>): Record<string, Setting> {
  const leaves = KEY_PATHS.flatMap((path): [string, Setting][] => {
    const value = valueAt(values, path);
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (value === undefined || isGroup) return [];
    const milliseconds = durationOf(path, value);
    const shown = milliseconds === null ? value : formatDuration(milliseconds);
    return [[path, { value: shown, source: sources[path] ?? 'default' }]];
  });
  return Object.fromEntries(leaves);
}

/** Lists the values that are set or depend on the file name. */
function settingsText(settings: Readonly<Record<string, Setting>>, kind: TaskKind): string[] {
  const depends = ['completion_gate', ...Object.keys(BY_FILE[kind].values)];
  const rows = Object.entries(settings)
    .filter(([path, { source }]) => source !== 'default' || depends.includes(path))
    .map(([path, { value, source }]) => {
      const text = value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
      return [`  ${path}`, printable(text), source];
    });
  const longest = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const room = Math.max(12, Math.min(MAX_SHOWN, columnsOf(1) - longest(0) - longest(2) - 4));
  const shown = rows.map(([path = '', text = '', source = '']) => [path, excerpt(text, room - 1), source]);
  return rows.length === 0
    ? []
    : ['', 'Settings that are set or depend on the file name (all of them: --json):', table(shown)];
}

const MAX_SHOWN = 40;
