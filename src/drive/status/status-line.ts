import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { loopStatusLine } from '../../term/loop-status-line.ts';
import { storeCost } from '../records/client-figures.ts';
import { said } from '../turn/messages.ts';

const USER_LINE_TIMEOUT = 5_000;

/**
 * The client's status bar: the loop's line, what a pause has to say, and below it the user's own status line. Keeps
 * the client's cost figure on the way. `input` is what the client gives a status line on standard input.
 */
export async function printStatusLine(
  input: string,
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  out: (line: string) => void,
): Promise<void> {
  storeCost(files, input, at);
  const current = readState(files.state);
  if (current.kind === 'loop') {
    out(loopStatusLine(current.state, at, costNow(input)));
    // The client drops what a hook says that it told to go (Esc) and what StopFailure says (measured).
    if (current.state.status === 'paused') out(said(current.state.paused.message));
  }
  const own = env['RALPH_USER_STATUS_LINE'];
  if (!own) return;
  const { spawnSync } = await import('node:child_process');
  const { stdout } = spawnSync(own, { shell: true, input, encoding: 'utf8', timeout: USER_LINE_TIMEOUT });
  if (stdout.trim() !== '') out(stdout.replace(/\n$/, ''));
}

function costNow(input: string): number | null {
  try {
    const cost = (JSON.parse(input) as { cost?: { total_cost_usd?: unknown } }).cost?.total_cost_usd;
    return typeof cost === 'number' ? cost : null;
  } catch {
    return null;
  }
}
