import { LAUNCH_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import { RalphError } from '../../text/message.ts';
import { ask } from '../ask.ts';
import type { CommandContext } from '../command.ts';

const MODES = `What may the agent do without asking?
  acceptEdits        Write files in the project and run the checks that the task names.
  auto               What the client itself judges to be safe.
  bypassPermissions  Everything that you may do on this machine; use it in a sandbox.`;

/** Asks the user at the terminal for a permission mode. Returns null for none. Throws `mode-missing` without a terminal. */
export async function askForMode({ values, mayAsk, err }: CommandContext): Promise<string | null> {
  if (values['yes'] === true) {
    err(withPrefix('--yes without a permission mode means acceptEdits: the agent may write files and run the checks.'));
    return 'acceptEdits';
  }
  if (!mayAsk) throw new RalphError('mode-missing', LAUNCH_TEXTS.needsMode);
  err(MODES);
  const answer = (await ask('Permission mode (an empty line cancels): ')) ?? '';
  if (answer === '') err('Cancelled; the loop was not started.');
  return answer || null;
}

/** Calls the function at most once: asking the client for its version takes a moment. */
export function once<T extends object>(find: () => T): () => T {
  let result: T | null = null;
  return () => {
    result ??= find();
    return result;
  };
}
