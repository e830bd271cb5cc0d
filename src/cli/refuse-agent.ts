import { insideLoopsClient } from '../state/process/ancestors.ts';
import { RalphError } from '../text/ralph-error.ts';

/** Returns whether the caller may be an agent: in its shell, below its client, or below a command that a runner uses as its agent. */
export function isAgent(env: NodeJS.ProcessEnv): boolean {
  return env['CLAUDECODE'] === '1' || env['RALPH_DRIVER'] === 'runner' || insideLoopsClient();
}

/** Throws `refused` in an agent's shell: only the user steers a loop, at another terminal. */
export function refuseAgent(what: string, env: NodeJS.ProcessEnv): void {
  if (!isAgent(env)) return;
  throw new RalphError('refused', {
    text: `"${what}" is for the user at a terminal, and this is the shell of an agent (CLAUDECODE=1, or a runner's).`,
    advice: [
      { verb: 'The user can run it in another terminal, outside Claude Code', command: what },
      ...(what === 'run' ? [{ verb: 'An agent can request a loop', command: 'start --mode runner' }] : []),
    ],
  });
}
