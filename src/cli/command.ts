import { type ParseArgsConfig, parseArgs } from 'node:util';
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
  /** Files of the loop named by `--loop NAME` or RALPH_LOOP, or of the default loop. */
  readonly files: LoopFiles;
  /** True without `--json`: the answer is text. */
  readonly forPeople: boolean;
  /** True if this text goes to a terminal. */
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
  /** Usage line after the command's name. */
  readonly usage: string;
  /** Description for `--help`: at most three sentences. */
  readonly help: string;
  readonly example: string;
  readonly options?: Record<string, OptionDefinition>;
  /** Present if the command refuses inside an agent's shell (CLAUDECODE=1) and says what to do instead. */
  readonly control?: true;
  /** Returns the exit code. Throws RalphError for problems that the user can fix. */
  run(context: CommandContext): Promise<number> | number;
}

export type OptionDefinition = NonNullable<ParseArgsConfig['options']>[string] & {
  readonly help: string;
  /** Name of the value in the help: `NAME`. */
  readonly value?: string;
};

/** Builds options from a table of `short, name VALUE...` and help text; VALUE: takes a value, `...`: several. */
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

/** Returns the number given by an option, above 0; null if it is absent. Throws `usage`. */
export function numberOf({ values }: Pick<CommandContext, 'values'>, option: string): number | null {
  const value = values[option];
  if (value === undefined) return null;
  const number = Number(value);
  if (Number.isFinite(number) && number > 0) return number;
  throw new RalphError('usage', `--${option} ${value}: give a number above 0.`);
}

/** Returns the whole number given by an option, from 1 to `most`. Throws `usage`. */
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

export const COMMON_OPTIONS: Readonly<Record<string, OptionDefinition>> = options({
  json: 'Print JSON instead of text.',
  'loop NAME': 'Name of the loop (or RALPH_LOOP).',
  'project DIR': 'Project; default: that of the current directory.',
  'h, help': 'Show this help.',
});

type ParsedOptions = Pick<CommandContext, 'values' | 'positionals' | 'rest'> & {
  readonly problem: string | null;
  /** Name of an option that the command does not have. */
  readonly unknown?: string;
};

const ARG_IS_FOR = 'start, run and resume set the arguments of a task folder.';

/** End of the usage of commands that start a client. */
const FOR_THE_CLIENT = '[-- CLIENT OPTIONS]';

/** Parses a command's own and the common options. Words after `--` are for the client if the command starts one. */
export function parseOptions(command: Command, args: readonly string[]): ParsedOptions {
  const end = command.usage.endsWith(FOR_THE_CLIENT) ? args.indexOf('--') : -1;
  const own = end === -1 ? args : args.slice(0, end);
  const rest = end === -1 ? [] : args.slice(end + 1);
  try {
    const { values, positionals } = parseArgs({
      args: [...own],
      options: { ...command.options, ...COMMON_OPTIONS },
      allowPositionals: true,
      strict: true,
    });
    // "reset docs" must not reset the default loop if the user meant the loop docs.
    const wordsOnly = command.usage.replace(/\[?--( .*|[a-z-]+( [A-Z=]+)?\]?)/g, '');
    const stray = /[A-Z]/.test(wordsOnly) ? undefined : positionals[0];
    return { values, positionals, rest, problem: stray === undefined ? null : `${command.name} takes no "${stray}".` };
  } catch (error) {
    return { values: {}, positionals: [], rest, ...misuse(command, error as Error) };
  }
}

/** Rewords an error of node's parseArgs, whose messages address programmers. */
function misuse({ name }: Command, { message }: Error): Pick<ParsedOptions, 'problem' | 'unknown'> {
  const option = /'(?:-\w, )?(-[^' ]+)/.exec(message)?.[1] ?? '';
  if (/^Unknown option/.test(message)) {
    const unknown = option.replace(/^--?/, '');
    const problem = unknown === 'arg' ? `${name} takes no --arg: ${ARG_IS_FOR}` : `${name} has no option ${option}.`;
    return { problem, unknown };
  }
  if (/does not take an argument/.test(message)) return { problem: `${option} takes no value.` };
  const dashed = /ambiguous/.test(message) ? ` If it begins with "-", write ${option}=VALUE.` : '';
  return { problem: `${option} needs a value.${dashed}` };
}

/** Returns the first word that is neither a common option nor its value (or null), and the other words. */
export function commandName(argv: readonly string[]): {
  readonly name: string | null;
  readonly args: readonly string[];
} {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    const option = word.startsWith('--') ? COMMON_OPTIONS[word.slice(2)] : undefined;
    if (option?.type === 'string') index += 1;
    else if (option === undefined && !Object.keys(COMMON_OPTIONS).some((name) => word.startsWith(`--${name}=`))) {
      return { name: word, args: [...argv.slice(0, index), ...argv.slice(index + 1)] };
    }
  }
  return { name: null, args: argv };
}
