import { RalphError } from '../../src/core/ralph-error.ts';
import { said } from '../../src/drive/texts.ts';
import { ask } from './ask.ts';
import type { CommandContext } from './command.ts';

const QUESTION =
  'What may the agent do without asking? acceptEdits: write files in the project. bypassPermissions: everything; for a sandbox. A permission mode, or nothing to leave it: ';

/**
 * Begins a loop that nobody can be asked about while it runs. Where no permission mode was given, a person at the
 * terminal is asked for it, and the loop is begun with that.
 */
export async function askingForMode(
  context: CommandContext,
  begin: (context: CommandContext) => Promise<number>,
): Promise<number> {
  try {
    return await begin(context);
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'mode-missing') throw error;
    if (!context.forPeople || process.stdin.isTTY !== true || context.values['yes'] === true) throw error;
    context.err(said(error.message));
    const mode = await ask(QUESTION);
    if (mode === null || mode === '') return 1;
    return begin({ ...context, values: { ...context.values, 'permission-mode': mode } });
  }
}
