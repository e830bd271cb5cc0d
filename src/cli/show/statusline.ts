import { readStdin } from '../../claude/hook-io/stdio.ts';
import { printStatusLine } from '../../drive/status/status-line.ts';
import type { Command } from '../command.ts';

/** More than a status line of the client ever says. */
const STDIN_LIMIT = 4 * 1024 * 1024;

export const STATUSLINE_COMMAND: Command = {
  name: 'statusline',
  summary: "Print the loop's line for the client's status bar.",
  usage: '',
  help: "The line in the client's status bar: ralph: NAME │ running │ iter 7/25 │ 12m │ $0.85. It keeps the client's cost figure for the loop, and runs the user's own status line below. The launcher registers scripts/statusline.cjs, which does the same in half the time: the client runs it every second.",
  options: {},
  control: false,
  async run({ env, files, now, out }) {
    await printStatusLine(readStdin(STDIN_LIMIT) ?? '', files, env, now(), out);
    return 0;
  },
};
