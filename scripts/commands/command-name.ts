import { COMMON_OPTIONS } from './common-options.ts';

export interface NamedCommand {
  /** null when no command was given. */
  readonly name: string | null;
  /** What is left for the command, options that stood before its name included. */
  readonly args: readonly string[];
}

/** The command's name: the first word that is neither one of the options every command has nor such an option's value. */
export function commandName(argv: readonly string[]): NamedCommand {
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
