import manifest from '../../package.json' with { type: 'json' };
import { COMMON_OPTIONS, type Command, type OptionDefinition } from './command.ts';

/** The help of one command. */
export function commandHelp(command: Command): string {
  const usage = `Usage: ralph-loop ${command.name}${command.usage === '' ? '' : ` ${command.usage}`}`;
  const own = optionLines(command.options);
  return [
    usage,
    '',
    command.help,
    ...(own.length === 0 ? [] : ['', 'Options:', ...own]),
    '',
    'Options of every command:',
    ...optionLines(COMMON_OPTIONS),
  ].join('\n');
}

function optionLines(options: Readonly<Record<string, OptionDefinition>>): string[] {
  const rows = Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? '' : `-${option.short}, `;
    const value = option.type === 'string' ? ` ${option.value ?? 'VALUE'}` : '';
    return [`  ${short}--${name}${value}`, option.help] as const;
  });
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`);
}

/** The help of the whole program: its commands, one a line. */
export function commandList(commands: readonly Command[]): string {
  const width = Math.max(0, ...commands.map(({ name }) => name.length));
  return [
    'Usage: ralph-loop COMMAND [options]',
    '',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'ralph-loop COMMAND --help says more about one. ralph-loop --version gives the version.',
    'Exit code 0: done; 1: refused, or something is wrong. start --launch leaves with the exit code of its loop.',
  ].join('\n');
}

export const VERSION: string = manifest.version;
