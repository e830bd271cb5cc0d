import { dirname, join } from 'node:path';
import { lastIterations } from '../../drive/records/journal.ts';
import { endReport } from '../../drive/status/end-report.ts';
import { describeLoop, type EndedLoop, type LoopReport } from '../../drive/status/loop-report.ts';
import { planRunOf } from '../../drive/status/plan-run.ts';
import { projectOfLoop } from '../../drive/worktree/worktree-place.ts';
import type { EndReport } from '../../engine/end-report.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { runFiles } from '../../state/task-folder/run-files.ts';
import { type RunState, readRunState } from '../../state/task-folder/run-state.ts';
import { endedState } from '../../state/with-state.ts';
import { hasFolder, taskKind } from '../../task/task-file.ts';
import {
  chosenLoop,
  chosenRun,
  endedLast,
  isNamed,
  liveLoops,
  liveLoopsOn,
  lostOn,
  pathOrLoop,
  taskPlace,
} from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';
import { explain } from './explain.ts';
import { runText } from './run-text.ts';
import { checkStand, type InactiveLoop, type Status, statusText } from './status-text.ts';

export const STATUS_COMMAND: Command = {
  name: 'status',
  usage: '[NAME | PATH] [--loop NAME]',
  help: 'Shows the state of a loop, or how the last one ended; for a run over several tasks (a plan, or tasks that run together) a table of them. Without NAME, PATH and --loop it shows the only live loop or run, or the one that ended last, and lists several live loops. PATH is a task folder, its RALPH.md or a plan.',
  example: 'ralph-loop status --loop docs',
  async run(context) {
    const path = pathOrLoop(context, 'status');
    if (path !== null && (await import('../task/plan.ts')).printPlanStatus(context, path)) return 0;
    const chosen = path === null ? chosenRun(context, null) : null;
    if (chosen !== null) {
      const { run } = chosen;
      const [active, message] = [run.live, run.why];
      context.answer({ active, message, name: null, runs: [run] }, () => runText(run, context.now(), context.paint));
      return 0;
    }
    const status = path === null ? statusHere(context) : statusOnPath(context, path);
    const report =
      status.active || status.lastLoop === null ? null : await reportOf(status.name, status.lastLoop, context);
    const shown = report === null ? status : { ...status, report };
    const { news: _, ...published } = { news: null, ...shown };
    context.answer(published, () => statusText(shown, context));
    return 0;
  },
};

async function reportOf(
  name: string | null,
  { loopId }: EndedLoop,
  context: CommandContext,
): Promise<EndReport | null> {
  const files = loopFiles(projectOfLoop(context.projectDir, name, context.env), name, context.env);
  const state = endedState(files, loopId);
  return state && endReport(files, state, context.env);
}

/** Number of iterations that a status shows; `logs --iterations` shows all. */
const RECENT = 10;

/** Describes the named loop, the default one, the only live one or the last one; lists several live loops. */
function statusHere(context: CommandContext): Status {
  const { files, env, now } = context;
  const report = describeLoop(files, env);
  const live = report.live === null ? liveLoops(context).filter(({ files: { state } }) => state !== files.state) : [];
  const isAny = files.name === null && report.found.kind === 'absent' && report.lost === null;
  const [only, another] = isAny ? live : [];
  if (only !== undefined && another === undefined) return statusOf(describeLoop(only.files, env), now());
  const status = statusOf((isAny && live.length === 0 ? endedLast(context, null) : null) ?? report, now());
  if (status.active || live.length === 0) return status;
  const news = status.news ?? (status.name === null ? 'The default loop is not active.' : null);
  const loops = live.map(({ name, status, taskPath }) => ({ name, status, taskPath }));
  return { ...status, news, message: news ?? status.message, loops };
}

/** Describes the live loop on a path, or the ended one recorded in its task folder. */
function statusOnPath(context: CommandContext, path: string): Status {
  const { projectDir, env, now } = context;
  if (liveLoopsOn(context, path).length > 0) return statusOf(describeLoop(chosenLoop(context, 'status'), env), now());
  const lost = lostOn(context, path);
  if (lost !== null) return statusOf(lost, now());
  const ended = endedLast(context, path);
  if (ended !== null && isNamed(ended.files, path)) return statusOf(ended, now());
  const { taskPath } = taskPlace(projectDir, path);
  const run = runOf(context.files, taskPath);
  const recorded = run?.status?.name ?? null;
  const fallback = loopFiles(projectDir, recorded !== null && LOOP_NAME.test(recorded) ? recorded : null, env);
  const { files, lastLoop } = ended ?? { files: fallback, lastLoop: null };
  const message = `No loop is active on ${taskPath}.`;
  const recent = recentOf({ ...describeLoop(files, env), lastLoop });
  return { active: false, news: null, message, name: files.name, lastLoop, run, ...recent };
}

function statusOf(report: LoopReport, at: string): Status {
  const { live, lastLoop, files, taskPath } = report;
  const planRun = planRunOf(report, at);
  const loop = live ?? { active: false, ...messageOf(report), name: files.name, lastLoop };
  const run = taskPath !== null && hasFolder(taskKind(taskPath)) ? { run: runOf(files, taskPath) } : {};
  return { ...loop, ...run, ...(planRun && { runs: [planRun] }), ...checksOf(report), ...recentOf(report) };
}

function checksOf({ files, live, lastLoop }: LoopReport): Pick<Status, 'checks'> {
  const { loopId, status } = live ?? lastLoop ?? { loopId: null, status: '' };
  if (loopId === null) return {};
  const checks = checkStand(files, loopId, status);
  return checks.running === null && checks.last === null ? {} : { checks };
}

/** Says that no loop is live, or what is wrong with its state file. */
function messageOf(report: LoopReport): Pick<InactiveLoop, 'news' | 'message'> {
  const { found, lost, files } = report;
  if (lost === null && found.kind !== 'corrupt' && found.kind !== 'newer')
    return { news: null, message: files.name === null ? 'No active loop.' : `No active loop named ${files.name}.` };
  const { why, next } = explain(report);
  const news = `${why} ${next}`;
  return { news, message: news };
}

function recentOf({ files, live, lost, lastLoop }: LoopReport): Pick<Status, 'recent'> {
  const loopId = live?.loopId ?? lost?.loopId ?? lastLoop?.loopId;
  if (loopId === undefined) return {};
  const recent = lastIterations(files, loopId, RECENT);
  return recent.length === 0 ? {} : { recent };
}

/** Reads the status projection of a task folder; null for a task without one, or if no loop has run there. */
function runOf({ projectDir }: LoopFiles, taskPath: string): RunState | null {
  if (!hasFolder(taskKind(taskPath))) return null;
  try {
    return readRunState(runFiles(join(projectDir, dirname(taskPath))));
  } catch (error) {
    return { status: null, lastIteration: null, torn: 0, problem: (error as Error).message };
  }
}
