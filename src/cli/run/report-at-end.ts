import { withPrefix } from '../../drive/turn/messages.ts';
import type { Run } from '../../engine/schema/run.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { CommandContext } from '../command.ts';
import { noWeb } from '../web/no-web.ts';

/**
 * Returns what writes the report of a loop or run that `--report` asks for; null without one. Throws RalphError now if it could not be written.
 * A later failure is shown and does not change the exit code: it has ended itself.
 */
export async function reportAtEnd(
  context: CommandContext,
): Promise<((ended: LoopFiles | Run) => Promise<void>) | null> {
  const { report: out } = context.values;
  if (typeof out !== 'string') return null;
  const { placeOf, shownLoop, writeReport, writeRunReport } = await import('../web/write-report.ts').catch(noWeb);
  placeOf(out, context);
  return async (ended) => {
    try {
      const loop = 'tasks' in ended ? ended : shownLoop(ended);
      if (loop === null) return;
      const path = await ('tasks' in loop ? writeRunReport(context, loop, out) : writeReport(context, loop, out));
      context.err(withPrefix(`the report is in ${path}.`));
    } catch (error) {
      context.err(withPrefix(`the report could not be written: ${(error as Error).message}`));
    }
  };
}
