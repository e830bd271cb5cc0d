import { printStatusLine } from '../../drive/status/status-line.ts';
import { readStdin } from '../../hosts/hook-io/stdio.ts';
import type { Command } from '../command.ts';

/** Size limit, beyond any status line input of the client. */
const STDIN_LIMIT = 4 * 1024 * 1024;

export const STATUSLINE_COMMAND: Command = {
  name: 'statusline',
  usage: '',
  help: "Prints one line such as: ralph: NAME │ running │ iter 7/25 │ 12m │ $0.85. It stores the client's cost figure for the loop and prints the user's own status line below.",
  example: 'ralph-loop statusline',
  async run({ env, files, now, out }) {
    // A person at a terminal sees the loop's line; only the client has more to say.
    const input = process.stdin.isTTY ? '' : (readStdin(STDIN_LIMIT) ?? '');
    await printStatusLine(input, files, env, now(), out);
    return 0;
  },
};
