import { basename } from 'node:path';
import { continueNow } from '../../drive/control/operate.ts';
import type { Batch, BatchTask } from '../../drive/parallel/batch.ts';
import { claimBatch, findBatch, notDrivenSince, readBatch, refuseRunning } from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import type { PlanEnd } from '../../drive/parallel/plan-entry.ts';
import { PlanRunner } from '../../drive/parallel/plan-runner.ts';
import { BatchRunner, batchCode } from '../../drive/parallel/run-batch.ts';
import type { BatchEnd, BatchRun } from '../../drive/parallel/side-by-side-runner.ts';
import { fitName } from '../../drive/start/find-task.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { worktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { steering } from '../../engine/events.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { columnsOf } from '../../term/write-text.ts';
import { countText } from '../../text/figures.ts';
import { advise, RalphError } from '../../text/message.ts';
import type { LoopRow, ReportData } from '../../web/model/report-data.ts';
import type { Command, CommandContext } from '../command.ts';
import { loopView } from '../runner-lines.ts';
import { startTarget } from '../start/start-request.ts';
import { noWeb } from '../web/no-web.ts';
import { agreedBatch, beginPlan, takeUp } from './batch-consent.ts';
import { atOnceOf, integrateOf, limitsOf, refuseForeign, withoutMode, wordsOf } from './batch-options.ts';
import { counts, provedText, published, reportLines, totals, whereOf, whyOf } from './batch-report.ts';
import { runTask } from './run-task.ts';

/** Runs several tasks, each in its own worktree, or resumes those of an interrupted run. */
export async function runParallel(context: CommandContext, command: Command): Promise<number> {
  const { projectDir, env, values, err } = context;
  const resumes = values['resume'] === true;
  const isFresh = !resumes && values['fresh'] === true;
  const former = isFresh ? findBatch(projectDir, env) : readBatch(projectDir, env);
  const known = former instanceof RalphError ? null : former;
  if (known !== null) refuseRunning(known);
  const problems: string[] = [];
  const wanted = resumes ? resumed(context, known) : await begun(context, known, problems);
  if (wanted === null) return 0;
  const pages = await batchPages(context);
  const batch = await agreedBatch(context, command, wanted, problems);
  if (batch === null) return 1;
  claimBatch(projectDir, env, batch, former);
  err(withPrefix(firstText(batch, resumes)));
  const view = await loopView(context);
  const notice = (message: string): void => view.tell({ type: 'agent.notice', message });
  const script = process.argv[1] ?? '';
  const program = [...process.execArgv, script];
  const tell: BatchRun['tell'] = (name, event) => view.tell(event, name);
  const options: BatchRun = { projectDir, env, batch, notice, program, tell, ...(pages && { over: pages.take }) };
  const { plan } = batch;
  const runner = plan ? new PlanRunner({ ...options, batch: { ...batch, plan } }) : new BatchRunner(options);
  view.live?.({
    say: (text, delivery) => runner.operate(view.focus?.() ?? '', () => steering(crypto.randomUUID(), text, delivery)),
    interrupt: () => runner.operate(view.focus?.() ?? '', () => ({ kind: 'pause' })),
    goOn: (text) => {
      const name = view.focus?.() ?? '';
      if (text !== '') runner.operate(name, () => steering(crypto.randomUUID(), text, 'next'));
      runner.operate(name, () => ({ kind: 'resume', by: 'launcher' }));
    },
    wake: () => runner.operate(view.focus?.() ?? '', continueNow),
    press: () => runner.press(),
  });
  let done: BatchEnd & { readonly plan?: PlanEnd };
  try {
    done = await runner.run();
  } finally {
    view.close();
  }
  const { plan: ended } = done;
  const code = ended?.code ?? batchCode(done.tasks, done.refused);
  if (values['json'] === true) {
    const message = ended && show(ended.message, { name: null, mode: 'runner' });
    const tasks = done.tasks.map(published);
    context.out(
      JSON.stringify({ type: 'batch-ended', code, tasks, ...(ended && { plan: { status: ended.status, message } }) }),
    );
  } else context.out(['', ...reportLines(done, projectDir, columnsOf(1))].join('\n'));
  await pages?.write(done.tasks);
  return code;
}

function firstText({ plan, tasks, atOnce }: Batch, resumes: boolean): string {
  const left = tasks.filter(({ step }) => step !== 'ended').length;
  if (plan !== undefined) {
    return resumes
      ? PARALLEL_TEXTS.planResumes(plan.path)
      : PARALLEL_TEXTS.planStarts(plan.path, plan.maxTasks, atOnce);
  }
  return resumes ? PARALLEL_TEXTS.resumes(left, tasks.length) : PARALLEL_TEXTS.starts(tasks.length, atOnce);
}

/** Finds the tasks and collects problems of their names. Returns null if the user decides not to start one of them. */
async function begun(context: CommandContext, former: Batch | null, problems: string[]): Promise<Batch | null> {
  const { projectDir, values, positionals, rest } = context;
  const open = (former?.tasks ?? []).filter(({ step }) => step !== 'ended');
  if (open.length > 0 && values['fresh'] !== true) {
    const names = open.map(({ name, planTask }) => planTask ?? name);
    throw new RalphError('refused', {
      text: PARALLEL_TEXTS.left(names),
      advice: [
        { verb: 'Resume them', command: 'run --resume' },
        { verb: 'Or start the new tasks instead', command: 'run TASK... --fresh' },
      ],
    });
  }
  if (values['plan'] === true) return beginPlan(context);
  refuseForeign(context, 'tasks');
  if (positionals.length === 0) throw new RalphError('usage', PARALLEL_TEXTS.noTasks);
  const atOnce = atOnceOf(context);
  const [how, limits] = [integrateOf(values['integrate']), limitsOf(context)];
  const tasks = new Map<string, BatchTask>();
  for (const word of positionals) {
    const own = await runTask({ ...context, positionals: [word] });
    if (own === null) return null;
    const target = startTarget(own, 'run');
    const taskPath = target.task ?? DEFAULT_TASK;
    const name = target.files.name ?? (fitName(basename(taskPath).replace(/\.[^.]*$/, '')) || 'task');
    const other = tasks.get(name);
    if (other !== undefined) {
      problems.push(
        other.taskPath === taskPath
          ? PARALLEL_TEXTS.twice(taskPath)
          : PARALLEL_TEXTS.sameName(name, other.taskPath, taskPath),
      );
    }
    tasks.set(name, { name, taskPath, words: [], step: 'waiting', end: null });
  }
  return {
    startedAt: context.now(),
    stoppedMs: 0,
    runner: { pid: process.pid, startedAt: null },
    atOnce,
    integrate: how,
    limits,
    fresh: values['fresh'] === true,
    words: [...wordsOf(context), '--project', projectDir],
    rest: [...rest],
    tasks: [...tasks.values()],
  };
}

function resumed(context: CommandContext, former: Batch | null): Batch | null {
  const { values, positionals, rest } = context;
  if (positionals.length > 0) throw new RalphError('usage', PARALLEL_TEXTS.otherTasks);
  refuseForeign(context, 'resumed');
  if (former === null) throw new RalphError('no-loop', advise(PARALLEL_TEXTS.nothingLeft, 'List the loops', 'list'));
  const given = limitsOf(context);
  const { limits } = former;
  return takeUp(context, {
    ...notDrivenSince(context.projectDir, context.env, former),
    ...(values['parallel'] !== undefined && { atOnce: atOnceOf(context) }),
    ...(values['integrate'] !== undefined && { integrate: integrateOf(values['integrate']) }),
    limits: {
      maxCostUsd: given.maxCostUsd ?? limits.maxCostUsd,
      maxTokens: given.maxTokens ?? limits.maxTokens,
      maxTimeMs: given.maxTimeMs ?? limits.maxTimeMs,
    },
    words: [...withoutMode(former.words), ...wordsOf(context)],
    rest: rest.length > 0 ? [...rest] : withoutMode(former.rest),
    tasks: former.tasks.map((task) => ({ ...task, words: withoutMode(task.words) })),
  });
}

/** Returns the report that `--report` asks for; null if there is none. Throws RalphError if it could not be written. */
async function batchPages(context: CommandContext) {
  const { values, projectDir, env, err } = context;
  if (typeof values['report'] !== 'string') return null;
  const { dataOf, placeOf, shownLoop, writePage } = await import('../web/write-report.ts').catch(noWeb);
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
