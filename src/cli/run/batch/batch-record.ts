import { lstatSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { type Integrate, NEW_TASK, notDrivenSince, type PlanBatch } from '../../../drive/parallel/batch.ts';
import { ISSUE_TEXTS, PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import { readPlanText, resumedPlanBatch, tasksAtStart } from '../../../drive/parallel/plan-entry.ts';
import { checkExistingLoop } from '../../../drive/start/beginning-state.ts';
import { fitName } from '../../../drive/start/find-task.ts';
import { branchOf, userGit } from '../../../drive/worktree/repository.ts';
import type { Batch, BatchTask } from '../../../engine/schema/batch.ts';
import { readRegularFile } from '../../../state/files/regular-file.ts';
import { readState } from '../../../state/loop-files.ts';
import { withPrefix } from '../../../state/process/program.ts';
import { DEFAULT_TASK } from '../../../task/task-file.ts';
import { taskTitle } from '../../../task/task-title.ts';
import { advise, RalphError } from '../../../text/message.ts';
import { parseDuration } from '../../../text/time.ts';
import { type CommandContext, numberOf, valuesOf, wholeOf } from '../../command.ts';
import { SETTING_OPTIONS } from '../../start/start-options.ts';
import { planToStart } from '../../start/start-plan.ts';
import { existingLoopPolicy, startTarget } from '../../start/start-request.ts';
import { type DraftedTask, QUOTED_ISSUE } from '../../task/draft.ts';
import { runTask } from '../run-task.ts';

/** Finds the tasks and collects problems with their names, and the drafts written for them. Returns null for a plan that is not to be started. */
export async function begunBatch(
  context: CommandContext,
  former: Batch | null,
  problems: string[],
  drafts: DraftedTask[],
): Promise<Batch | null> {
  const { values } = context;
  const open = (former?.tasks ?? []).filter(({ step }) => step !== 'ended');
  if (open.length > 0 && values['fresh'] !== true) {
    const names = open.map(({ name, planTask }) => planTask ?? name);
    throw new RalphError('refused', {
      text: PARALLEL_TEXTS.left(names),
      advice: [
        { verb: 'Resume them', command: 'resume' },
        { verb: 'Or start the new tasks instead', command: 'run TASK... --fresh' },
      ],
    });
  }
  if (values['plan'] === true) return beginPlan(context);
  refuseForeign(context, 'tasks');
  const wanted = await wantedTasks(context);
  if (wanted.length === 0) throw new RalphError('usage', PARALLEL_TEXTS.noTasks);
  const atOnce = atOnceOf(context);
  const batch = { ...newBatch(context), atOnce, integrate: integrateOf(values['integrate']) };
  const tasks = new Map<string, BatchTask>();
  for (const { word, url, values: more } of wanted) {
    const { context: own, drafted } = await runTask({
      ...context,
      values: { ...values, ...more },
      positionals: [word],
    });
    if (drafted !== null) drafts.push(drafted);
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
    const title = taskTitle(readRegularFile(join(context.projectDir, taskPath)) ?? '');
    tasks.set(name, { ...NEW_TASK, name, taskPath, title, words: [], ...(url && { issue: { url, told: false } }) });
  }
  return { ...batch, fresh: values['fresh'] === true, tasks: [...tasks.values()] };
}

function newBatch(context: CommandContext): Batch {
  return {
    startedAt: context.now(),
    stoppedMs: 0,
    title: '',
    ended: null,
    runner: { pid: process.pid, startedAt: null },
    atOnce: 1,
    integrate: 'none',
    limits: limitsOf(context),
    fresh: false,
    words: [...wordsOf(context), '--project', context.projectDir],
    rest: [...context.rest],
    tasks: [],
  };
}

/** Returns the record of the resumed tasks, with the options of this command line. */
export function resumedBatch(context: CommandContext, former: Batch | null): Batch | null {
  const { values, positionals, rest } = context;
  if (positionals.length > 0) throw new RalphError('usage', PARALLEL_TEXTS.otherTasks);
  refuseForeign(context, 'resumed');
  if (former === null) throw new RalphError('no-loop', advise(PARALLEL_TEXTS.nothingLeft, 'List the loops', 'list'));
  const given = limitsOf(context);
  const { limits } = former;
  const kept = values['permission-mode'] === undefined ? (words: readonly string[]) => [...words] : withoutMode;
  return takeUp(context, {
    ...notDrivenSince(context.projectDir, context.env, former),
    ...(values['parallel'] !== undefined && { atOnce: atOnceOf(context) }),
    ...(values['integrate'] !== undefined && { integrate: integrateOf(values['integrate']) }),
    limits: {
      maxCostUsd: given.maxCostUsd ?? limits.maxCostUsd,
      maxTokens: given.maxTokens ?? limits.maxTokens,
      maxTimeMs: given.maxTimeMs ?? limits.maxTimeMs,
    },
    words: [...kept(former.words), ...wordsOf(context)],
    rest: rest.length > 0 ? [...rest] : kept(former.rest),
    tasks: former.tasks.map((task) => ({ ...task, words: kept(task.words) })),
  });
}

/** Checks a plan whose tasks will run side by side, before anything is created. Throws RalphError with all problems. */
async function beginPlan(context: CommandContext): Promise<PlanBatch | null> {
  const { projectDir, env, values, positionals, mayAsk } = context;
  refuseForeign(context, 'plan');
  if (values['integrate'] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.planIntegrates);
  if (positionals.length > 1) throw new RalphError('usage', PARALLEL_TEXTS.onePlan(positionals));
  const atOnce = atOnceOf(context);
  const { context: own } = await runTask(context);
  const { files, task } = startTarget(own, 'run');
  const existing = existingLoopPolicy(own.values);
  checkExistingLoop(readState(files.state), { existing, consented: true }, files);
  const start = await planToStart(own, files, task, mayAsk);
  if (task === null || start === null) return null;
  if (lstatSync(join(projectDir, task)).isSymbolicLink())
    throw new RalphError('refused', PARALLEL_TEXTS.planLink(task));
  if (!userGit(projectDir, ['merge-tree', '--write-tree', 'HEAD', 'HEAD'], env).ok)
    throw new RalphError('refused', PARALLEL_TEXTS.oldGit);
  const branch = branchOf(projectDir, env) ?? '';
  const text = readPlanText(projectDir, task);
  return {
    ...newBatch(context),
    title: taskTitle(text),
    atOnce,
    plan: { path: task, branch, from: start.from, maxTasks: 1, done: [], ...tasksAtStart(text) },
  };
}

/** Returns the updated record of a resumed plan; that of independent tasks unchanged. */
function takeUp(context: CommandContext, batch: Batch): Batch {
  const { values, projectDir } = context;
  const { plan } = batch;
  if (plan === undefined && values['max-tasks'] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.noPlan);
  if (plan === undefined) return batch;
  const maxTasks = wholeOf(context, 'max-tasks', plan.maxTasks, 100);
  return resumedPlanBatch(projectDir, { ...batch, plan: { ...plan, maxTasks } });
}

interface Wanted {
  readonly word: string;
  readonly url: string | null;
  readonly values: CommandContext['values'];
}

/** Returns the tasks on the command line: as words, or as issues, whose text is only quoted. */
async function wantedTasks({ values, positionals, projectDir, env, err }: CommandContext): Promise<Wanted[]> {
  const { issue, issues } = values;
  if (issue === undefined && issues === undefined) return positionals.map((word) => ({ word, url: null, values: {} }));
  const { issuesWith, issueText, readIssue } = await import('../../../drive/parallel/issues.ts');
  if ((issue !== undefined && issues !== undefined) || positionals.length > 0)
    throw new RalphError('usage', ISSUE_TEXTS.both);
  const from = { projectDir, env };
  const label = String(issues);
  const { taken, completed, refused, left, isCut } =
    issues === undefined
      ? { taken: [readIssue(from, String(issue))], completed: [], refused: [], left: 0, isCut: false }
      : issuesWith(from, label);
  // Its pull request may wait for days; running the same command again must not open a second one.
  for (const number of completed) err(withPrefix(ISSUE_TEXTS.leftOut(number)));
  for (const [number, why] of refused) err(withPrefix(ISSUE_TEXTS.refused(number, why)));
  if (left > 0) err(withPrefix(ISSUE_TEXTS.later(left, label, isCut)));
  if (taken.length === 0) throw new RalphError('refused', ISSUE_TEXTS.none(label));
  return taken.map((one) => ({
    word: `Fix issue #${one.number}.`,
    url: one.url,
    values: { [QUOTED_ISSUE]: issueText(one) },
  }));
}

const BUDGETS = ['max-time', 'max-cost', 'max-tokens'];

/** Options without effect on several tasks, on those of a plan, and on resumed ones. */
const FOREIGN = {
  tasks: ['loop', 'task', 'path', 'tdd', 'arg', 'consent', 'from', 'max-tasks', 'dry-run'],
  plan: ['loop', 'tdd', 'arg', 'consent', 'issue', 'issues', 'dry-run'],
  resumed: ['loop', 'tdd', 'arg', 'plan', 'from', 'fresh', 'issue', 'issues', 'dry-run'],
} as const;

/** Throws `usage` for an option that would have no effect. */
function refuseForeign({ values, files }: CommandContext, what: keyof typeof FOREIGN): void {
  const stray = FOREIGN[what].find((key) => values[key] !== undefined && String(values[key]) !== '');
  const text = what === 'resumed' ? PARALLEL_TEXTS.notResumed : PARALLEL_TEXTS.noWord;
  if (stray !== undefined) throw new RalphError('usage', text(stray));
  if (files.name !== null) throw new RalphError('usage', PARALLEL_TEXTS.loopVariable(files.name));
}

/** Returns the options that apply to each loop separately; the budget covers all loops together. */
function wordsOf(context: CommandContext): string[] {
  const { values } = context;
  const single = [...Object.keys(SETTING_OPTIONS), 'agent', 'worktree-setup', 'require-verified'].filter(
    (key) => key !== 'set' && !BUDGETS.includes(key),
  );
  const given = single.flatMap((key) => {
    const value = values[key];
    return value === undefined ? [] : value === true ? [`--${key}`] : [`--${key}=${value}`];
  });
  return [...given, ...valuesOf(context, 'set').map((pair) => `--set=${pair}`)];
}

/** Returns the words without the permission mode, which has to be given at each start. */
export function withoutMode(words: readonly string[]): string[] {
  const isMode = /^--(?:permission-mode(?:=.*)?|dangerously-skip-permissions)$/;
  return words.filter((word, at) => !isMode.test(word) && words[at - 1] !== '--permission-mode');
}

export function limitsOf(context: CommandContext): Batch['limits'] {
  const { values } = context;
  const time = values['max-time'];
  const maxTimeMs = time === undefined ? null : parseDuration(String(time));
  if (time !== undefined && (maxTimeMs === null || maxTimeMs <= 0))
    throw new RalphError('usage', `--max-time ${time}: give a duration such as 8h or 90m.`);
  return { maxCostUsd: numberOf(context, 'max-cost'), maxTokens: numberOf(context, 'max-tokens'), maxTimeMs };
}

function atOnceOf(context: CommandContext): number {
  if (context.values['parallel'] === 'auto') return Math.max(1, Math.floor(availableParallelism() / 2));
  return wholeOf(context, 'parallel', 1, 64);
}

function integrateOf(value: unknown): Integrate {
  if (value === undefined) return 'none';
  const known = (['none', 'merge', 'rebase', 'pr'] as const).find((how) => how === value);
  if (known === undefined) throw new RalphError('usage', PARALLEL_TEXTS.integrateWord(String(value)));
  return known;
}
