import { parseArgs } from 'node:util';
import { COMMON_OPTIONS, type Command, type CommandContext } from './command.ts';

type ParsedOptions = Pick<CommandContext, 'values' | 'positionals' | 'rest'> & {
  /** Problem of the command line, or null. */
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

/** Returns the first word that is neither a common option nor its value, or null, and the other words. */
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
