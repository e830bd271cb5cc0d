import type { Command, OptionDefinition } from './command.ts';
import { COMMON_OPTIONS } from './common-options.ts';

/** The help of one command. */
export function commandHelp(command: Command): string {
  const usage = `Usage: main.cjs ${command.name}${command.usage === '' ? '' : ` ${command.usage}`}`;
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
