import { readStdin } from '../../src/claude/read-stdin.ts';
import { keepCost } from '../../src/drive/keep-cost.ts';
import { said } from '../../src/drive/said.ts';
import { readState } from '../../src/state/read-state.ts';
import { loopStatusLine } from '../../src/term/loop-status-line.ts';
import type { Command } from './command.ts';

/** More than a status line of the client ever says. */
const STDIN_LIMIT = 4 * 1024 * 1024;
const USER_LINE_TIMEOUT = 5_000;

export const STATUSLINE_COMMAND: Command = {
  name: 'statusline',
  summary: "Print the loop's line for the client's status bar.",
  usage: '',
  help: "The launcher registers it with the client, which runs it every second: ralph: NAME │ running │ iter 7/25 │ 12m │ $0.85. It keeps the client's cost figure for the loop, and runs the user's own status line below.",
  options: {},
  control: false,
  async run({ env, files, now, out }) {
    const input = readStdin(STDIN_LIMIT) ?? '';
    keepCost(files, input, now());
    const current = readState(files.state);
    if (current.kind === 'loop') {
      out(loopStatusLine(current.state, now(), costNow(input)));
      // The client drops what a hook says that it told to go (Esc) and what StopFailure says (measured).
      if (current.state.status === 'paused') out(said(current.state.paused.message));
    }
    const own = env['RALPH_USER_STATUS_LINE'];
    if (own) {
      const { spawnSync } = await import('node:child_process');
      const { stdout } = spawnSync(own, { shell: true, input, encoding: 'utf8', timeout: USER_LINE_TIMEOUT });
      if (stdout.trim() !== '') out(stdout.replace(/\n$/, ''));
    }
    return 0;
  },
};

function costNow(input: string): number | null {
  try {
    const cost = (JSON.parse(input) as { cost?: { total_cost_usd?: unknown } }).cost?.total_cost_usd;
    return typeof cost === 'number' ? cost : null;
  } catch {
    return null;
  }
}
