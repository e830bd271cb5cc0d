import { dirname } from 'node:path';
import { type Approver, approveSettings } from '../../../drive/start/approve.ts';
import type { Prepared } from '../../../drive/start/stages.ts';
import { unagreedSettings } from '../../../drive/start/terms/agreed-settings.ts';
import { tryCommits } from '../../../drive/start/try-commits.ts';
import { withPrefix } from '../../../drive/turn/messages.ts';
import { hookProblems } from '../../../drive/worktree/hooks.ts';
import { WORKTREE_TEXTS } from '../../../drive/worktree/messages.ts';
import { changedFiles, repositoryOf } from '../../../drive/worktree/repository.ts';
import type { Batch, BatchTask } from '../../../engine/schema/batch.ts';
import type { Policy } from '../../../engine/schema/contract.ts';
import { safePath } from '../../../install/project-files.ts';
import { SANDBOX_TEXTS } from '../../../sandbox/messages.ts';
import { WORKTREES } from '../../../task/task-file.ts';
import { RalphError } from '../../../text/message.ts';
import type { Command, CommandContext } from '../../command.ts';
import { userOf } from '../../start/approver.ts';
import { warningTexts } from '../../start/warnings.ts';
import { type Asked, askedTasks } from './asked-tasks.ts';

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
  const open = asked.flatMap(({ label, prepared }) =>
    unagreedSettings(prepared.request, prepared.resolved).map((one) => ({ ...one, line: `${label}: ${one.line}` })),
  );
  const settings = [...new Map(open.map((one) => [one.digest, one])).values()];
  const user = userOf(context);
  approveSettings({ files, request: { ...first.prepared.request, name: null } }, settings, user);
  if (batch.plan !== undefined && context.values['resume'] !== true) await tryCommits(first.prepared, user.say);
  const bare = asked.filter(({ prepared }) => prepared.terms.unsandboxed === 'not-set');
  const sandbox = bare.length === 0 ? null : await user.chooseSandbox();
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
  return withPlanBaseline(withPolicy(whole, first.prepared.resolved.policy), first.prepared, user);
}

/** Runs the checks of a plan once for all of its tasks. Returns null if a signal ended them. */
async function withPlanBaseline(batch: Batch, prepared: Prepared, { runChecks }: Approver): Promise<Batch | null> {
  const { plan } = batch;
  if (plan === undefined) return batch;
  const checked = await runChecks(prepared);
  if (checked === null) return null;
  return checked.baseline === null ? batch : { ...batch, plan: { ...plan, baseline: checked.baseline.baseline } };
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

/** Returns the record with the limits of its plan: the budget covers all tasks. */
function withPolicy(batch: Batch, policy: Policy): Batch {
  if (batch.plan === undefined) return batch;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const plan = { ...batch.plan, maxTasks: policy.plan?.maxTasks ?? 1 };
  return { ...batch, limits: { maxCostUsd, maxTokens, maxTimeMs }, plan };
}
