import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import {
  type Batch,
  type BatchTask,
  dropBatch,
  type Integrate,
  readBatch,
  refuseRunning,
} from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import { BatchRunner, batchCode } from '../../drive/parallel/run-batch.ts';
import type { SharedLimits } from '../../drive/parallel/shared-budget.ts';
import { fitName } from '../../drive/start/find-task.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { counted } from '../../drive/worktree/messages.ts';
import { worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { steering } from '../../engine/events.ts';
import { dollarText } from '../../engine/messages.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { table } from '../../term/table.ts';
import { parseDuration } from '../../text/duration.ts';
import { advise } from '../../text/message.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { SETTING_OPTIONS } from '../start/start-options.ts';
import { startTarget } from '../start/start-request.ts';
import { prepareSetUp } from './in-worktree.ts';
import { runTask } from './run-task.ts';
import { loopView } from './runner-lines.ts';

/** Runs several tasks, each in a worktree of its own, or resumes those of a run that was interrupted. */
export async function runParallel(context: CommandContext): Promise<number> {
  const { projectDir, env, values, err } = context;
  const former = readBatch(projectDir, env);
  if (former !== null) refuseRunning(former);
  const batch = values['resume'] === true ? resumed(context, former) : await begun(context, former);
  if (batch === null) return 0;
  const left = batch.tasks.filter(({ step }) => step !== 'ended').length;
  err(
    withPrefix(
      values['resume'] === true
        ? PARALLEL_TEXTS.resumes(left, batch.tasks.length)
        : PARALLEL_TEXTS.starts(batch.tasks.length, batch.atOnce),
    ),
  );
  const view = await loopView(context);
  const notice = (message: string): void => view.tell({ type: 'notice', message });
  const script = process.argv[1] ?? '';
  const runner = new BatchRunner({
    ...{ projectDir, env, batch, notice },
    program: [...process.execArgv, script],
    tell: (name, event) => view.tell(event, name),
  });
  view.live?.({
    say: (text, delivery) => runner.operate(view.focus?.() ?? '', () => steering(crypto.randomUUID(), text, delivery)),
    interrupt: () => runner.operate(view.focus?.() ?? '', () => ({ kind: 'pause' })),
    goOn: (text) => {
      const name = view.focus?.() ?? '';
      if (text !== '') runner.operate(name, () => steering(crypto.randomUUID(), text, 'next'));
      runner.operate(name, () => ({ kind: 'resume', by: 'launcher' }));
    },
    press: () => runner.press(),
  });
  let done: Awaited<ReturnType<BatchRunner['run']>>;
  try {
    done = await runner.run();
  } finally {
    view.close();
  }
  const code = batchCode(done.tasks, done.refused);
  if (values['json'] === true)
    context.out(JSON.stringify({ type: 'batch-ended', code, tasks: done.tasks.map(published) }));
  else context.out(['', ...reportLines(done.tasks, done.refused, projectDir)].join('\n'));
  return code;
}

/** Checks every task before anything is created. Throws RalphError with all problems. */
async function begun(context: CommandContext, former: Batch | null): Promise<Batch | null> {
  const { projectDir, env, values, positionals, rest } = context;
  for (const option of ['task', 'path', 'loop', 'tdd', 'arg', 'plan', 'from', 'max-tasks', 'consent']) {
    if (values[option] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.noWord(option));
  }
  const open = (former?.tasks ?? []).filter(({ step }) => step !== 'ended');
  if (open.length > 0 && values['fresh'] !== true) {
    const names = open.map(({ name }) => name);
    throw new RalphError('refused', {
      text: PARALLEL_TEXTS.left(names),
      advice: [
        { verb: 'Resume them', command: 'run --resume' },
        { verb: 'Or start the new tasks instead', command: 'run TASK... --fresh' },
      ],
    });
  }
  const tasks = new Map<string, BatchTask>();
  const problems: string[] = [];
  for (const word of positionals) {
    const own = await runTask({ ...context, positionals: [word] });
    if (own === null) return null;
    const target = startTarget(own, 'run');
    const taskPath = target.task ?? DEFAULT_TASK;
    const name = target.files.name ?? loopNameOf(taskPath);
    const other = tasks.get(name);
    if (other !== undefined) {
      problems.push(
        other.taskPath === taskPath
          ? PARALLEL_TEXTS.twice(taskPath)
          : PARALLEL_TEXTS.sameName(name, other.taskPath, taskPath),
      );
    }
    tasks.set(name, { name, taskPath, step: 'waiting', end: null });
    const problem = problemOf(() => prepareSetUp(own, target.task));
    if (problem !== null)
      problems.push(problem.includes(taskPath) ? problem : PARALLEL_TEXTS.invalid(taskPath, problem));
  }
  if (problems.length > 0) throw new RalphError('task-invalid', problems.join('\n'));
  dropBatch(projectDir, env);
  const atOnce = atOnceOf(values['parallel']);
  return {
    ...{ startedAt: context.now(), runner: { pid: process.pid, startedAt: null }, atOnce },
    ...{ integrate: integrateOf(values['integrate']), limits: limitsOf(context) },
    fresh: values['fresh'] === true,
    ...{ words: [...wordsOf(context), '--project', projectDir], rest: [...rest], tasks: [...tasks.values()] },
  };
}

function resumed(context: CommandContext, former: Batch | null): Batch | null {
  const { values, positionals, rest } = context;
  if (positionals.length > 0) throw new RalphError('usage', PARALLEL_TEXTS.otherTasks);
  if (former === null) throw new RalphError('no-loop', advise(PARALLEL_TEXTS.nothingLeft, 'List the loops', 'list'));
  const given = limitsOf(context);
  const { limits } = former;
  return {
    ...former,
    ...(values['parallel'] !== undefined && { atOnce: atOnceOf(values['parallel']) }),
    ...(values['integrate'] !== undefined && { integrate: integrateOf(values['integrate']) }),
    limits: {
      maxCostUsd: given.maxCostUsd ?? limits.maxCostUsd,
      maxTokens: given.maxTokens ?? limits.maxTokens,
      maxTimeMs: given.maxTimeMs ?? limits.maxTimeMs,
    },
    words: [...former.words, ...wordsOf(context)],
    rest: rest.length > 0 ? [...rest] : former.rest,
  };
}

/** Returns the problem of a task; a missing permission mode is asked for, so it is thrown. */
function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (!(error instanceof RalphError) || error.code === 'mode-missing') throw error;
    return error.message;
  }
}

const BUDGETS = ['max-time', 'max-cost', 'max-tokens'];

/** Returns the options that hold for each loop alone; the budget is for all of them together. */
function wordsOf(context: CommandContext): string[] {
  const { values } = context;
  const single = [...Object.keys(SETTING_OPTIONS), 'agent', 'worktree-setup'].filter(
    (key) => key !== 'set' && !BUDGETS.includes(key),
  );
  const given = single.flatMap((key) => {
    const value = values[key];
    return value === undefined ? [] : value === true ? [`--${key}`] : [`--${key}`, String(value)];
  });
  return [...given, ...valuesOf(context, 'set').flatMap((pair) => ['--set', pair])];
}

function limitsOf(context: CommandContext): SharedLimits {
  const { values } = context;
  const number = (key: string): number | null => {
    if (values[key] === undefined) return null;
    const value = Number(values[key]);
    if (Number.isFinite(value) && value > 0) return value;
    throw new RalphError('usage', `--${key} ${values[key]}: give a number above 0.`);
  };
  const time = values['max-time'];
  const maxTimeMs = time === undefined ? null : parseDuration(String(time));
  if (time !== undefined && (maxTimeMs === null || maxTimeMs <= 0)) {
    throw new RalphError('usage', `--max-time ${time}: give a duration such as 8h or 90m.`);
  }
  return { maxCostUsd: number('max-cost'), maxTokens: number('max-tokens'), maxTimeMs };
}

function atOnceOf(value: unknown): number {
  if (value === undefined) return 1;
  if (value === 'auto') return Math.max(1, Math.floor(availableParallelism() / 2));
  const count = Number(value);
  if (Number.isInteger(count) && count >= 1 && count <= 64) return count;
  throw new RalphError('usage', PARALLEL_TEXTS.number(String(value)));
}

function integrateOf(value: unknown): Integrate {
  if (value === undefined) return 'none';
  const known = (['none', 'merge', 'rebase', 'pr'] as const).find((how) => how === value);
  if (known === undefined) throw new RalphError('usage', PARALLEL_TEXTS.integrateWord(String(value)));
  return known;
}

/** Returns a name for the loop on a task file that is in no folder of its own. */
function loopNameOf(taskPath: string): string {
  return fitName(basename(taskPath).replace(/\.[^.]*$/, '')) || 'task';
}

function published({ name, taskPath, step, end }: BatchTask): object {
  return { loop: name, taskPath, step, branch: `ralph/${name}`, ...end };
}

function reportLines(tasks: readonly BatchTask[], refused: string | null, projectDir: string): string[] {
  const rows = tasks.map(({ name, end }) => {
    const cost = end === null || end.costUsd === null ? '' : dollarText(end.costUsd);
    const iterations = end === null || end.iterations === null ? '' : counted(end.iterations, 'iteration');
    return [name, end?.status ?? PARALLEL_TEXTS.notStarted, iterations, cost, end === null ? '' : `ralph/${name}`];
  });
  const known = tasks.map(({ end }) => end?.costUsd ?? 0).reduce((sum, cost) => sum + cost, 0);
  const failed = tasks
    .filter(({ end }) => end !== null && end.code !== 0)
    .map(({ name, end }) => `${name}: ${end?.message}`);
  const there = worktreePlaces(projectDir).map(({ name }) => name);
  const done = tasks.filter(({ name, end }) => end !== null && end.integrated === null && there.includes(name));
  const open = tasks.some(({ step }) => step !== 'ended');
  return [
    table(rows),
    ...(known > 0 ? [withPrefix(`all loops together cost ${dollarText(known)}.`)] : []),
    ...(refused === null ? [] : [withPrefix(`the shared budget is used up: ${refused}.`)]),
    ...failed.map((line) => withPrefix(line)),
    ...(done.length === 0 ? [] : [withPrefix('each loop worked on its own branch. Look at one, merge it, clean up:')]),
    ...(done.length === 0
      ? []
      : ['  git log -p HEAD..ralph/NAME', '  git merge ralph/NAME', '  ralph-loop worktree remove NAME']),
    ...(open ? [withPrefix(advise('not all tasks have ended.', 'Resume them', 'run --resume'))] : []),
  ];
}
