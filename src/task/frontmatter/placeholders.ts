import { resolve } from 'node:path';
import type { Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import { outsideComments } from '../../text/markdown/comments.ts';
import { taskFolder } from '../task-file.ts';

/** What the placeholders of a RALPH.md stand for in one iteration. */
export interface BodyValues {
  /** The output of each command that ran, by name. */
  readonly commands: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  /** `name` is the task folder's own; `iteration` the one that now begins. */
  readonly ralph: { readonly iteration: number; readonly name: string; readonly maxIterations: number };
}

/** One placeholder as it stands in a text. */
export interface Placeholder {
  readonly kind: 'commands' | 'args' | 'ralph';
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const PLACEHOLDER = /\{\{\s*(commands|args|ralph)\.(\w[\w-]*)\s*\}\}/g;
const ITERATION = /\{\{\s*ralph\.iteration\s*\}\}/g;

/** The names after `ralph.`. */
export const RALPH_NAMES: readonly string[] = ['iteration', 'name', 'max_iterations'];

/**
 * The body as the agent gets it: HTML comments left out, and every placeholder replaced in one pass, so that nothing a
 * command prints or an argument holds is ever expanded or left out itself. A command that is not there is the empty
 * text. What is no placeholder of ours, and an argument without a value, stays as it stands.
 */
export function renderBody(body: string, values: BodyValues): string {
  return outsideComments(body)
    .map(({ text }) => replaced(text, (placeholder) => textOf(placeholder, values)))
    .join('');
}

/** The placeholders of a body outside its comments, with their places in the whole body. */
export function bodyPlaceholders(body: string): Placeholder[] {
  return outsideComments(body).flatMap(({ text, at }) =>
    placeholdersOf(text).map(({ start, end, ...named }) => ({ ...named, start: start + at, end: end + at })),
  );
}

/** The placeholders of a command. */
export function placeholdersOf(text: string): Placeholder[] {
  return [...text.matchAll(PLACEHOLDER)].map(({ 0: whole, 1: kind, 2: name = '', index }) => ({
    kind: kind as Placeholder['kind'],
    name,
    start: index,
    end: index + whole.length,
  }));
}

/** A command of the contract as it runs in this iteration: the one placeholder that the start could not fill. */
export function runOfIteration(run: string, iteration: number): string {
  return run.replace(ITERATION, String(iteration));
}

/** The text with each placeholder replaced by what `value` says; null leaves it as it stands. */
export function replaced(text: string, value: (placeholder: Placeholder) => string | null): string {
  let result = '';
  let from = 0;
  for (const placeholder of placeholdersOf(text)) {
    const { start, end } = placeholder;
    result += text.slice(from, start) + (value(placeholder) ?? text.slice(start, end));
    from = end;
  }
  return result + text.slice(from);
}

function textOf({ kind, name }: Placeholder, { commands, args, ralph }: BodyValues): string | null {
  switch (kind) {
    case 'commands':
      return own(commands, name) ?? '';
    case 'args':
      return own(args, name);
    case 'ralph':
      return own({ iteration: ralph.iteration, name: ralph.name, max_iterations: ralph.maxIterations }, name);
    default:
      return kind satisfies never;
  }
}

function own(record: Readonly<Record<string, string | number>>, name: string): string | null {
  return Object.hasOwn(record, name) ? String(record[name]) : null;
}

/** What the shell gets for a command of a task folder in this iteration, and where it runs, absolute. */
export function taskCommand(
  contract: Pick<Contract, 'taskPath'>,
  projectDir: string,
  command: Pick<EvidenceCommand, 'run' | 'directory'>,
  iteration: number,
): { readonly run: string; readonly directory: string } {
  const inTask = command.directory === 'task';
  return {
    run: runOfIteration(command.run, iteration),
    directory: inTask ? taskFolder(resolve(projectDir), contract.taskPath) : resolve(projectDir),
  };
}
