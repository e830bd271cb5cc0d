import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Batch, BatchTask, PlanBatch } from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import { readPlanText, resumedPlanBatch } from '../../drive/parallel/plan-entry.ts';
import { unagreedSettings } from '../../drive/start/agreed-settings.ts';
import { withBaseline } from '../../drive/start/baseline.ts';
import { lastLoopIn } from '../../drive/start/find-task.ts';
import { type PreparedContract, prepareContract } from '../../drive/start/prepare-contract.ts';
import type { StartRequest } from '../../drive/start/read-settings.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { hookProblems } from '../../drive/worktree/hooks.ts';
import { checkWorktree } from '../../drive/worktree/make-worktree.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { changedFiles, repositoryOf, userGit } from '../../drive/worktree/repository.ts';
import { worktreePlace } from '../../drive/worktree/worktree-place.ts';
import { blockedIn } from '../../engine/plan/attempt.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import type { HostName } from '../../hosts/host.ts';
import { clientFinder } from '../../hosts/hosts.ts';
import { safePath } from '../../install/project-files.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { askForMode } from '../ask.ts';
import { type Command, type CommandContext, wholeOf } from '../command.ts';
import { parseOptions } from '../parse.ts';
import { approveSettings, askSandboxMode, warningTexts } from '../start/approve.ts';
import { runFirstChecks } from '../start/first-checks.ts';
import { planToStart, refuseOverLoop } from '../start/start-plan.ts';
import { startTarget } from '../start/start-request.ts';
import { tryCommits } from '../start/try-commits.ts';
import { atOnceOf, limitsOf, refuseForeign, wordsOf } from './batch-options.ts';
import { setUpRequest } from './in-worktree.ts';
import { runTask } from './run-task.ts';

/** Checks a plan whose tasks will run side by side, before anything is created. Throws RalphError with all problems. */
export async function beginPlan(context: CommandContext): Promise<PlanBatch | null> {
  const { projectDir, env, values, positionals, rest, mayAsk } = context;
  refuseForeign(context, 'plan');
  if (values['integrate'] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.planIntegrates);
  if (positionals.length > 1) throw new RalphError('usage', PARALLEL_TEXTS.onePlan(positionals));
  const atOnce = atOnceOf(context);
  const own = await runTask(context);
  if (own === null) return null;
  const { files, task } = startTarget(own, 'run');
  refuseOverLoop(own, files);
  const start = await planToStart(own, files, task, mayAsk);
  if (task === null || start === null) return null;
  if (lstatSync(join(projectDir, task)).isSymbolicLink())
    throw new RalphError('refused', PARALLEL_TEXTS.planLink(task));
  if (!userGit(projectDir, ['merge-tree', '--write-tree', 'HEAD', 'HEAD'], env).ok) {
    throw new RalphError('refused', PARALLEL_TEXTS.oldGit);
  }
  const branch = userGit(projectDir, ['symbolic-ref', '--short', 'HEAD'], env).text.trim();
  const { tasks } = readPlan(readPlanText(projectDir, task));
  return {
    startedAt: context.now(),
    stoppedMs: 0,
    runner: { pid: process.pid, startedAt: null },
    atOnce,
    integrate: 'none',
    limits: limitsOf(context),
    fresh: false,
    words: [...wordsOf(context), '--project', projectDir],
    rest: [...rest],
    tasks: [],
    plan: { path: task, branch, from: start.from, maxTasks: 1, done: [], blocked: blockedIn(tasks) },
  };
}

/** Returns the record with the limits of its plan: the budget covers all tasks. */
function withPolicy(batch: Batch, policy: Policy): Batch {
  if (batch.plan === undefined) return batch;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const plan = { ...batch.plan, maxTasks: policy.plan?.maxTasks ?? 1 };
  return { ...batch, limits: { maxCostUsd, maxTokens, maxTimeMs }, plan };
}

/** Returns the record of a plan's tasks that are resumed, or of independent tasks unchanged. */
export function takeUp(context: CommandContext, batch: Batch): Batch {
  const { values, projectDir } = context;
  const { plan } = batch;
  if (plan === undefined && values['max-tasks'] !== undefined) throw new RalphError('usage', PARALLEL_TEXTS.noPlan);
  if (plan === undefined) return batch;
  const maxTasks = wholeOf(context, 'max-tasks', plan.maxTasks, 100);
  return resumedPlanBatch(projectDir, { ...batch, plan: { ...plan, maxTasks } });
}

/** A task, or the plan of all tasks (null), as its own run would start it. */
interface Asked {
  readonly task: BatchTask | null;
  readonly label: string;
  readonly request: StartRequest;
  readonly prepared: PreparedContract;
  /** Options added by the user's answers. */
  readonly words: string[];
}

/**
 * Checks everything that a run of each task would refuse, before anything is created, and asks all of its questions once
 * here, because the loops have no terminal. Returns null if the user declines. Throws RalphError with all problems.
 */
export async function agreedBatch(
  context: CommandContext,
  command: Command,
  batch: Batch,
  problems: string[],
): Promise<Batch | null> {
  const { projectDir, env, err, files } = context;
  const { root } = repositoryOf(projectDir, env);
  safePath(projectDir, WORKTREES);
  const asked = await askedTasks(context, command, batch, problems);
  const [first] = asked ?? [];
  if (asked === null || first === undefined) return asked && batch;
  // A set-up command installs what the main checkout has.
  const isSetUp = asked.every(({ prepared }) => (prepared.resolved.settings.worktreeSetup ?? null) !== null);
  const unfit = hookProblems(root, isSetUp ? root : null, env);
  if (unfit.length > 0) throw new RalphError('refused', unfit.join('\n'));
  const open = asked.flatMap(({ label, request, prepared }) =>
    unagreedSettings(request, prepared.resolved).map((one) => ({ ...one, line: `${label}: ${one.line}` })),
  );
  const settings = [...new Map(open.map((one) => [one.digest, one])).values()];
  approveSettings(files, { ...first.request, name: null }, settings);
  if (batch.plan !== undefined && context.values['resume'] !== true) await tryCommits(context, first.request);
  const bare = asked.filter(({ prepared }) => prepared.terms.unsandboxed === 'not-set');
  const sandbox = bare.length === 0 ? null : await askSandboxMode(context);
  if (sandbox !== null) for (const { words } of bare) words.push(`--set=sandbox.mode=${sandbox}`);
  for (const [text, labels] of warningsOf(context, asked)) {
    if (sandbox !== null && text === SANDBOX_TEXTS.withoutBypass) continue;
    err(withPrefix(labels.length === asked.length ? text : `${labels.join(', ')}: ${text}`));
  }
  nameLeftOut(context, batch);
  const added = (task: BatchTask | null): string[] => asked.find((one) => one.task === task)?.words ?? [];
  const tasks = batch.tasks.map((task) => ({ ...task, words: [...task.words, ...added(task)] }));
  const whole = { ...batch, words: [...batch.words, ...added(null)], tasks };
  if (context.values['resume'] === true) return whole;
  return withPlanBaseline(context, withPolicy(whole, first.prepared.resolved.policy), first.request);
}

/** Runs the checks of a plan once for all of its tasks. Returns null if a signal ended them. */
async function withPlanBaseline(context: CommandContext, batch: Batch, request: StartRequest): Promise<Batch | null> {
  const { plan } = batch;
  if (plan === undefined) return batch;
  const ready = await runFirstChecks(context, (options) => withBaseline(request, options));
  if (ready === null) return null;
  return ready.baseline === null ? batch : { ...batch, plan: { ...plan, baseline: ready.baseline.baseline } };
}

/** Prepares each task that has not ended. Returns null if the user declines to choose a permission mode. */
async function askedTasks(
  context: CommandContext,
  command: Command,
  batch: Batch,
  problems: string[],
): Promise<Asked[] | null> {
  const { projectDir, env } = context;
  const { plan } = batch;
  const asked: Asked[] = [];
  const withoutMode: ((mode: string) => Asked)[] = [];
  let isNamed = false;
  const client = clientFinder(env);
  for (const task of plan === undefined ? batch.tasks.filter(({ step }) => step !== 'ended') : [null]) {
    const label = task?.taskPath ?? plan?.path ?? '';
    const prepare = (mode: string | null): Asked => {
      const own = ownContext(context, command, batch, task);
      const made = setUpRequest(own, startTarget(own, 'run').task, plan === undefined ? null : { from: plan.from });
      const flags = mode === null ? made.flags : { ...made.flags, permission_mode: mode };
      const request = { ...made, flags, clientVersion: (host: HostName | undefined) => client(host).version };
      const words = mode === null ? [] : [`--permission-mode=${mode}`];
      return { task, label, request, prepared: prepareContract(request), words };
    };
    try {
      if (task?.step === 'waiting')
        checkWorktree({ ...task, projectDir, existing: batch.fresh ? 'fresh' : 'refuse', env });
      asked.push(prepare(null));
    } catch (error) {
      if (!(error instanceof RalphError) || error.code === 'client-missing') throw error;
      const problem = show(error.advised, { name: task?.name ?? null, mode: 'runner' });
      const namesTask = error.code === 'task-missing' || error.advised.task === label;
      if (error.code === 'mode-missing') withoutMode.push(prepare);
      else problems.push(namesTask ? problem : PARALLEL_TEXTS.invalid(label, problem));
      isNamed ||= error.code === 'name-taken';
    }
  }
  if (isNamed) problems.push(PARALLEL_TEXTS.otherName);
  if (problems.length > 0) throw new RalphError('task-invalid', problems.join('\n'));
  const mode = withoutMode.length === 0 ? '' : await askForMode(context);
  return mode === null ? null : [...asked, ...withoutMode.map((prepare) => prepare(mode))];
}

/** Returns the command line of a task's run, in its worktree if its loop has begun; null is the plan. */
function ownContext(context: CommandContext, command: Command, batch: Batch, task: BatchTask | null): CommandContext {
  const { projectDir, env } = context;
  const { resume: _, ...given } = context.values;
  const { values: former } = parseOptions(command, [...batch.words, ...(task?.words ?? [])]);
  const { name = null, taskPath = batch.plan?.path ?? '', step } = task ?? {};
  const place = name !== null && step === 'started' ? worktreePlace(projectDir, name) : { projectDir };
  const files = loopFiles(place.projectDir, name, env);
  const begun = place.projectDir !== projectDir && lastLoopIn(files) !== null;
  const loop = name ?? undefined;
  const values = { ...given, ...former, loop, ...(begun ? { resume: true } : { task: join(projectDir, taskPath) }) };
  const own = begun ? { projectDir: place.projectDir, files } : { files: loopFiles(projectDir, name, env) };
  return { ...context, ...own, rest: batch.rest, positionals: [], values };
}

/** Returns each warning once, with the tasks that it applies to. */
function warningsOf(context: CommandContext, asked: readonly Asked[]): ReadonlyMap<string, readonly string[]> {
  const tasks = new Map<string, string[]>();
  for (const { label, prepared } of asked) {
    for (const text of warningTexts(context, prepared.warnings, prepared.terms)) {
      tasks.set(text, [...(tasks.get(text) ?? []), label]);
    }
  }
  return tasks;
}

/** Names the uncommitted changes missing from new worktrees, which begin at the last commit plus the task's own files. */
function nameLeftOut({ projectDir, env, err }: CommandContext, { tasks }: Batch): void {
  if (!tasks.some(({ step }) => step === 'waiting')) return;
  const { changed, removed } = changedFiles(projectDir, env);
  const own = ['.claude/', '.ralph/', ...tasks.map(({ taskPath }) => `${dirname(taskPath)}/`)];
  const left = [...changed, ...removed].filter((path) => !own.some((folder) => path.startsWith(folder)));
  if (left.length > 0) err(withPrefix(WORKTREE_TEXTS.notInThese(left.length)));
}
