import { insideLoopsClient } from '../state/process/ancestors.ts';
import { RalphError } from '../text/ralph-error.ts';

/** Whether an agent may be calling: in its shell, below its client, or below a command that a runner has for an agent. */
export function isAgent(env: NodeJS.ProcessEnv): boolean {
  return env['CLAUDECODE'] === '1' || env['RALPH_DRIVER'] === 'runner' || insideLoopsClient();
}

/** Ruling 21: who steers a loop is the user, at a terminal of their own. Throws `refused` in an agent's shell. */
export function refuseAgent(what: string, env: NodeJS.ProcessEnv): void {
  if (!isAgent(env)) return;
  const wayOut =
    what === 'run' ? ' An agent can ask for a loop: ralph-loop start --mode runner; the user then agrees.' : '';
  throw new RalphError(
    'refused',
    `"${what}" is for the user at a terminal, and this is the shell of an agent (a Claude Code session, CLAUDECODE=1, or a runner's), where it could run it as well. The user can run it in another terminal, outside Claude Code: ${process.argv[1] ?? 'main.cjs'} ${what}${wayOut === '' ? '' : `.${wayOut}`}`,
  );
}
