import { parseArgs } from 'node:util';
import type { Command, CommandContext } from './command.ts';
import { COMMON_OPTIONS } from './common-options.ts';

export type ParsedOptions = Pick<CommandContext, 'values' | 'positionals' | 'rest'> & {
  /** What is wrong with the command line, or null. */
  readonly problem: string | null;
};

const ARG_IS_FOR = 'a task folder is given its arguments when it starts, by start, run or resume.';

/** Ends the usage of a command that starts one. */
const FOR_THE_CLIENT = '[-- CLIENT OPTIONS]';

/**
 * A command's own options and those that every command has. What follows `--` passes through untouched where it is for
 * the client, and otherwise is words, whatever they begin with.
 */
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
    // "reset docs" must not reset the default loop when the one named docs was meant.
    const stray = takesWords(command) ? undefined : positionals[0];
    return { values, positionals, rest, problem: stray === undefined ? null : `${command.name} takes no "${stray}"` };
  } catch (error) {
    // parseArgs ends its sentence with advice that is about code, not about this command line.
    const said = (error as Error).message.split('. To specify')[0] ?? '';
    const problem = /^Unknown option '--arg'/.test(said) ? `${command.name} takes no --arg: ${ARG_IS_FOR}` : said;
    return { values: {}, positionals: [], rest, problem };
  }
}

/** Whether the usage names a word beside the options and their values. */
function takesWords({ usage }: Command): boolean {
  return /[A-Z]/.test(usage.replace(/\[?--( .*|[a-z-]+( [A-Z=]+)?\]?)/g, ''));
}
