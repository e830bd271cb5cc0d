import type { BatchTask } from '../../../drive/parallel/batch.ts';
import { withPrefix } from '../../../drive/turn/messages.ts';
import { worktreePlace, worktreePlaces } from '../../../drive/worktree/worktree-place.ts';
import { loopFiles } from '../../../state/loop-files.ts';
import { countText } from '../../../text/figures.ts';
import type { LoopRow, ReportData } from '../../../web/model/report-data.ts';
import type { CommandContext } from '../../command.ts';
import { noWeb } from '../../web/no-web.ts';
import { counts, provedText, totals, whereOf, whyOf } from './batch-report.ts';

/** Returns the report that `--report` asks for; null if there is none. Throws RalphError if it could not be written. */
export async function batchPages(context: CommandContext) {
  const { values, projectDir, env, err } = context;
  if (typeof values['report'] !== 'string') return null;
  const { dataOf, placeOf, shownLoop, writePage } = await import('../../web/write-report.ts').catch(noWeb);
  const path = placeOf(values['report'], context);
  const loops = new Map<string, ReportData>();
  // A failure does not change the exit code: the loops themselves have ended.
  const told = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      err(withPrefix(`the report is incomplete: ${(error as Error).message}`));
    }
  };
  // When a loop ends, because its worktree may then be removed.
  const take = (name: string): Promise<void> =>
    told(async () => {
      const loop = shownLoop(loopFiles(worktreePlace(projectDir, name).projectDir, name, env));
      if (loop !== null) loops.set(name, await dataOf(context, loop));
    });
  /** A task without a loop appears only in the title. */
  const rowsOf = (task: BatchTask, there: readonly string[]): LoopRow[] => {
    const { name, planTask, end } = task;
    const row = loops.get(name)?.row;
    if (row === undefined) return [];
    const tokens = end === null || end.tokens === 0 ? '' : `${countText(end.tokens)} tokens`;
    const where = whereOf(task, there);
    const place = where === '' ? '' : `${end?.commit === where ? 'commit' : 'branch'} ${where}`;
    const about = [place, provedText(task), tokens, ...whyOf(task)].filter((part) => part !== '').join(' · ');
    return [{ ...row, name: planTask ?? name, about }];
  };
  const write = (tasks: readonly BatchTask[]): Promise<void> =>
    told(async () => {
      for (const { name } of tasks) if (!loops.has(name)) await take(name);
      const there = worktreePlaces(projectDir).map(({ name }) => name);
      const title = `${counts(tasks)} tasks complete`;
      const page = {
        title,
        totals: totals(tasks),
        rows: tasks.flatMap((task) => rowsOf(task, there)),
        loops: [...loops.values()],
      };
      err(withPrefix(`the report is in ${writePage(path, page)}.`));
    });
  return { take, write };
}
