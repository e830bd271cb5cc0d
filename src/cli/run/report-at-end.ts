import { withPrefix } from '../../drive/turn/messages.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { CommandContext } from '../command.ts';
import { noWeb } from '../web/no-web.ts';

/**
 * Returns what writes the report that `--report` asks for; null without one. Throws RalphError now if it could not be written.
 * A later failure is shown and does not change the exit code: the loop itself has ended.
 */
export async function reportAtEnd(context: CommandContext): Promise<((files: LoopFiles) => Promise<void>) | null> {
  const { report: out } = context.values;
  if (typeof out !== 'string') return null;
  const { placeOf, shownLoop, writeReport } = await import('../web/write-report.ts').catch(noWeb);
  placeOf(out, context);
  return async (files) => {
    try {
      const loop = shownLoop(files);
      if (loop !== null) context.err(withPrefix(`the report is in ${await writeReport(context, loop, out)}.`));
    } catch (error) {
      context.err(withPrefix(`the report could not be written: ${(error as Error).message}`));
    }
  };
}
