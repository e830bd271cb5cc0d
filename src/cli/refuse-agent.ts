import { insideLoopsClient } from '../state/process/ancestors.ts';
import { RalphError } from '../text/ralph-error.ts';

/** Whether an agent may be calling: in its shell, below its client, or below a command that a runner has for an agent. */
export function isAgent(env: NodeJS.ProcessEnv): boolean {
  return env['CLAUDECODE'] === '1' || env['RALPH_DRIVER'] === 'runner' || insideLoopsClient();
}

/** Ruling 21: who steers a loop is the user, at a terminal of their own. Throws `refused` in an agent's shell. */
export function refuseAgent(what: string, env: NodeJS.ProcessEnv): void {
  if (!isAgent(env)) return;
  throw new RalphError('refused', {
    text: `"${what}" is for the user at a terminal, and this is the shell of an agent (CLAUDECODE=1, or a runner's).`,
    advice: [
      { verb: 'The user can run it in another terminal, outside Claude Code', command: what },
      ...(what === 'run' ? [{ verb: 'An agent can ask for a loop', command: 'start --mode runner' }] : []),
    ],
  });
}
