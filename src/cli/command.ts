import type { ParseArgsConfig } from 'node:util';
import type { LoopFiles } from '../state/loop-files.ts';
import type { Paint } from '../term/format.ts';
import { RalphError } from '../text/message.ts';

export interface CommandContext {
  /** Values of the command's options, checked by node's parseArgs. */
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly positionals: readonly string[];
  /** Words after `--`, passed through unchanged. */
  readonly rest: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly projectDir: string;
  /** Files of the loop that `--loop NAME` or RALPH_LOOP names, or of the default loop. */
  readonly files: LoopFiles;
  /** True unless `--json` was given: the answer is text. */
  readonly forPeople: boolean;
  /** True if that text goes to a terminal. */
  readonly atTerminal: boolean;
  /** True if the user can also be asked: standard input is a terminal as well. */
  readonly mayAsk: boolean;
  readonly paint: Paint;
  readonly now: () => string;
  /** Prints a text, wrapped between words in a terminal. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Prints the answer of a command: its data with `--json`, else its text. */
  readonly answer: (data: object, text: () => string) => void;
  /** Prints data for a program, regardless of the options. */
  readonly json: (data: object) => void;
}

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Usage line after the command's name. */
  readonly usage: string;
  /** Description for `--help`: at most three sentences. */
  readonly help: string;
  readonly example: string;
  readonly options?: Record<string, OptionDefinition>;
  /** Control commands refuse inside an agent's shell (CLAUDECODE=1) and name the way out. */
  readonly control?: true;
  /** Returns the exit code. Throws RalphError for problems that the user can fix. */
  run(context: CommandContext): Promise<number> | number;
}

export type OptionDefinition = NonNullable<ParseArgsConfig['options']>[string] & {
  readonly help: string;
  /** Name of the value in the help: `NAME`. */
  readonly value?: string;
};

/** Builds options from a table of `short, name VALUE...` and help text: VALUE makes the option take one, `...` several. */
export function options(table: Readonly<Record<string, string>>): Record<string, OptionDefinition> {
  const rows = Object.entries(table).map(([key, help]): [string, OptionDefinition] => {
    const [, short, name = '', value, multiple] = /^(?:(\w), )?([\w-]+)(?: (.+?)(\.{3})?)?$/.exec(key) ?? [];
    const type = value === undefined ? 'boolean' : 'string';
    return [
      name,
      { type, help, ...(value && { value }), ...(short && { short }), ...(multiple && { multiple: true }) },
    ];
  });
  return Object.fromEntries(rows);
}

/** Returns the values of an option that may be given several times. */
export function valuesOf({ values }: Pick<CommandContext, 'values'>, name: string): string[] {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** Returns the number of an option, above 0; null if it is absent. Throws `usage`. */
export function numberOf({ values }: Pick<CommandContext, 'values'>, option: string): number | null {
  const value = values[option];
  if (value === undefined) return null;
  const number = Number(value);
  if (Number.isFinite(number) && number > 0) return number;
  throw new RalphError('usage', `--${option} ${value}: give a number above 0.`);
}

/** Returns the whole number of an option, from 1 to `most`. Throws `usage`. */
export function wholeOf(
  { values }: Pick<CommandContext, 'values'>,
  option: string,
  otherwise: number,
  most: number,
): number {
  const value = values[option];
  if (value === undefined) return otherwise;
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new RalphError('usage', `--${option} ${value}: use a whole number from 1 to ${most}.`);
}

/** Options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionDefinition>> = options({
  json: 'Print JSON instead of text.',
  'loop NAME': 'Name of the loop (or RALPH_LOOP).',
  'project DIR': 'Project; default: that of the current directory.',
  'h, help': 'Show this help.',
});
