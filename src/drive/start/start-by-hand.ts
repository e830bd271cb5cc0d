import { RalphError } from '../../text/message.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { prepareStart } from './prepare-contract.ts';
import { startLoop, unasked } from './start-loop.ts';

/** Starts a loop by hand, from the SessionStart hook. Returns the problem, or warnings. */
export function startByHand(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  at: string,
  client?: string,
): { readonly problem: string | null; readonly warnings: readonly string[] } {
  try {
    const prepared = prepareStart({
      projectDir,
      name: null,
      task: null,
      flags: {},
      env,
      at,
      existing: 'refuse',
      headless: env['CLAUDE_CODE_SESSION_ATTENDED'] === '0',
      consented: true,
      host: client === 'claude-code' ? undefined : client,
    });
    // Its checks do not run before the start: the client would end a hook that runs that long.
    const { warnings, stored } = startLoop(unasked(prepared));
    const told = warnings.map(({ message }) => message);
    return {
      problem: null,
      warnings: stored.contract.validation.length > 0 ? told : [...told, START_TEXTS.nothingToVerify],
    };
  } catch (error) {
    if (error instanceof RalphError) return { problem: `no loop was started. ${error.message}`, warnings: [] };
    throw error;
  }
}
