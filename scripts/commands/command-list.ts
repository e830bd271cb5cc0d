import type { Command } from './command.ts';

/** The help of the whole program: its commands, one a line. */
export function commandList(commands: readonly Command[]): string {
  const width = Math.max(0, ...commands.map(({ name }) => name.length));
  return [
    'Usage: main.cjs COMMAND [options]',
    '',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'main.cjs COMMAND --help says more about one. main.cjs --version gives the version.',
    'Exit code 0: done; 1: refused, or something is wrong. start --launch leaves with the exit code of its loop.',
  ].join('\n');
}
