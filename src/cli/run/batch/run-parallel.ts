import { continueNow } from '../../../drive/control/operate.ts';
import { runOfBatch } from '../../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import { PlanRunner } from '../../../drive/parallel/plan-runner.ts';
import { BatchRunner } from '../../../drive/parallel/run-batch.ts';
import type { BatchEnd, BatchRun } from '../../../drive/parallel/side-by-side-runner.ts';
import { steering } from '../../../engine/events.ts';
import type { Batch, BatchTask, Run } from '../../../engine/schema/batch.ts';
import { show, withPrefix } from '../../../state/process/program.ts';
import { columnsOf } from '../../../term/write-text.ts';
import { redact } from '../../../text/redact/redact.ts';
import type { Command, CommandContext } from '../../command.ts';
import { loopView } from '../../runner-lines.ts';
import { branchLines, taskTable } from '../../show/run-text.ts';
import { startBatch } from './start-batch.ts';

/** Runs several tasks, each in its own worktree, or resumes those of an interrupted run. */
export async function runParallel(context: CommandContext, command: Command): Promise<number> {
  const { projectDir, env, values, err } = context;
  const started = await startBatch(context, command);
  if (typeof started === 'number') return started;
  const { batch, report } = started;
  err(withPrefix(firstText(batch, values['resume'] === true)));
  const view = await loopView(context);
  const notice = (message: string): void => view.tell({ type: 'agent.notice', message: redact(message) });
  const script = process.argv[1] ?? '';
  const program = [...process.execArgv, script];
  const tell: BatchRun['tell'] = (name, event) => view.tell(event, name);
  const options: BatchRun = { projectDir, env, batch, notice, program, tell };
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
  let done: BatchEnd;
  try {
    done = await runner.run();
  } finally {
    view.close();
  }
  const run = runOfBatch(done.batch, { projectDir, env, at: context.now() });
  const { ended, tasks } = done.batch;
  if (values['json'] === true) {
    const message = ended && show({ text: ended.text, advice: ended.next === null ? [] : [ended.next] });
    const planned = plan && ended && { plan: { status: ended.status, message } };
    const { code } = done;
    context.out(JSON.stringify({ type: 'batch-ended', code, tasks: tasks.map(published), ...planned }));
  } else context.out(['', ...reportLines(run, columnsOf(1))].join('\n'));
  await report?.(run);
  return done.code;
}

function firstText({ plan, tasks, atOnce }: Batch, resumes: boolean): string {
  const left = tasks.filter(({ step }) => step !== 'ended').length;
  if (plan === undefined)
    return resumes ? PARALLEL_TEXTS.resumes(left, tasks.length) : PARALLEL_TEXTS.starts(tasks.length, atOnce);
  const { path, maxTasks } = plan;
  return resumes ? PARALLEL_TEXTS.planResumes(path) : PARALLEL_TEXTS.planStarts(path, maxTasks, atOnce);
}

/** Returns a task as `--json` prints it. */
function published({ name, taskPath, planTask, step, end }: BatchTask): object {
  return {
    loop: name,
    taskPath,
    ...(planTask !== undefined && { task: planTask }),
    step,
    branch: `ralph/${name}`,
    ...end,
  };
}

/** Returns the report at the end of a run; its table has at most `columns` columns if possible. */
function reportLines(run: Run, columns: number): string[] {
  const { plan, live, status, why, next } = run;
  const isOver = plan === null && next === '' && (status === 'complete' || status === 'incomplete');
  const text = [why, next].filter((part) => part !== '').join(' ');
  return [
    ...taskTable(run, columns),
    ...(live || isOver || text === '' ? [] : [withPrefix(text)]),
    ...branchLines(run),
  ];
}
