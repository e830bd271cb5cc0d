import { resolve } from 'node:path';
import type { Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import { outsideComments } from '../../text/markdown/comments.ts';
import { taskFolder } from '../task-file.ts';

export interface BodyValues {
  readonly commands: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly ralph: { readonly iteration: number; readonly name: string; readonly maxIterations: number };
}

export interface Placeholder {
  readonly kind: 'commands' | 'args' | 'ralph';
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const PLACEHOLDER = /\{\{\s*(commands|args|ralph)\.(\w[\w-]*)\s*\}\}/g;
const ITERATION = /\{\{\s*ralph\.iteration\s*\}\}/g;

export const RALPH_NAMES: readonly string[] = ['iteration', 'name', 'max_iterations'];

/** Replaces placeholders in one pass, so that values are never expanded; those without a value stay. */
export function renderBody(body: string, values: BodyValues): string {
  return outsideComments(body)
    .map(({ text }) => replaced(text, (placeholder) => textOf(placeholder, values)))
    .join('');
}

export function bodyPlaceholders(body: string): Placeholder[] {
  return outsideComments(body).flatMap(({ text, at }) =>
    placeholdersOf(text).map(({ start, end, ...named }) => ({ ...named, start: start + at, end: end + at })),
  );
}

export function placeholdersOf(text: string): Placeholder[] {
  return [...text.matchAll(PLACEHOLDER)].map(({ 0: whole, 1: kind, 2: name = '', index }) => ({
    kind: kind as Placeholder['kind'],
    name,
    start: index,
    end: index + whole.length,
  }));
}

/** Fills in the iteration, which was unknown at the start. */
export function runOfIteration(run: string, iteration: number): string {
  return run.replace(ITERATION, String(iteration));
}

/** Replaces each placeholder by the result of `value`, which gets its index as well; null keeps it. */
export function replaced(text: string, value: (placeholder: Placeholder, index: number) => string | null): string {
  const values = placeholdersOf(text).map((placeholder, index) => value(placeholder, index));
  return text.replace(PLACEHOLDER, (whole) => values.shift() ?? whole);
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

/** Returns the shell text and absolute directory of a task command in this iteration. */
export function taskCommand(
  contract: Pick<Contract, 'taskPath'>,
  projectDir: string,
  command: Pick<EvidenceCommand, 'run' | 'directory'>,
  iteration: number,
): { readonly run: string; readonly directory: string } {
  const root = resolve(projectDir);
  const directory = command.directory === 'task' ? taskFolder(root, contract.taskPath) : root;
  return { run: runOfIteration(command.run, iteration), directory };
}
