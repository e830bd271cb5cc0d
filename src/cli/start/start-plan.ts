import { findBatch } from '../../drive/parallel/batch.ts';
import { PART_TEXTS, PLAN_TEXTS } from '../../drive/plan/messages.ts';
import { lastLoopIn } from '../../drive/start/find-task.ts';
import { checkPlanStart, planBranch } from '../../drive/start/plan-start.ts';
import { otherLoops } from '../../drive/start/protection-warnings.ts';
import { planOf } from '../../engine/plan/attempt.ts';
import { contractOfLoop, findContract, hideRuntimeDir, type LoopFiles, readContract } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { formOfRepository } from '../../task/git/commit-form.ts';
import { changeByGit, runGit } from '../../task/git/run-git.ts';
import { mainProjectOf } from '../../task/task-file.ts';
import { about, advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';

/** Key among the options: the user was asked about the project's checks, and the start is prepared again. */
export const CHECKS_OFFERED = 'checks offered';

/** Checks a start with --plan, and runs nothing of the repository; null for any other task. `mayAsk`: a new branch may be offered. */
export async function planToStart(
  context: CommandContext,
  files: LoopFiles,
  task: string | null,
  mayAsk: boolean,
): Promise<{ readonly from: string | null; readonly commitForm: string } | null> {
  const { values, env, projectDir } = context;
  const resumes = values['resume'] === true;
  // A resumed or approved loop is already known to be over a plan; by its contract, where its state is lost.
  const last = resumes || values['consent'] === true ? lastLoopIn(files) : null;
  const live = resumes ? findContract(files) : 'absent';
  const contract = typeof live === 'string' || live.contract.loopId === last?.loopId ? null : live.contract;
  const before = contract === null ? last : { loopId: contract.loopId, plan: contract.policy.plan && planOf({}) };
  if (values['plan'] !== true && before?.plan === undefined) {
    const stray = ['from', 'max-tasks'].find((name) => values[name] !== undefined);
    if (stray !== undefined) throw new RalphError('usage', `--${stray} is for a plan: add --plan.`);
    return null;
  }
  if (task === null)
    throw new RalphError(
      'usage',
      'which plan? Give its file, as in: run PLAN.md --plan, or router start --task PLAN.md --plan.',
    );
  const requested = values['consent'] === true ? (readContract(files)?.contract.policy.plan?.from ?? null) : null;
  const from = typeof values['from'] === 'string' ? values['from'] : requested;
  const resumed = resumes && before !== null ? { files, state: before } : null;
  const [beside] = resumed === null ? otherLoops(files, env) : [];
  if (beside !== undefined)
    throw new RalphError('refused', about(PLAN_TEXTS.beside(beside.name), { name: beside.name, mode: 'hook' }));
  const start = await checkPlanStart({ projectDir, planPath: task, from, resumed, env });
  for (const note of start.notes) context.err(withPrefix(note));
  if (start.mainBranch !== null) await leaveMain(context, task, start.mainBranch, mayAsk);
  if (mayAsk && !resumes && values['yes'] !== true && values[CHECKS_OFFERED] !== true) {
    const { offerProjectChecks } = await import('./adopt-validation.ts');
    await offerProjectChecks(context, task);
  }
  // The loop's own state would leave uncommitted files after each task.
  if (values['dry-run'] !== true) hideRuntimeDir(files);
  return { from: start.from, commitForm: await formOfRepository(projectDir, env) };
}

/** The task on which a loop works beside others, and its plan. */
export type PartOfPlan = { readonly id: string; readonly planPath: string };

/** Returns the part of a plan on which a loop, live or ended, works; null for any other loop. */
export function partOfPlan(files: LoopFiles, loopId: string): PartOfPlan | null {
  const { contract } = contractOfLoop(files, loopId) ?? {};
  const id = contract?.policy.plan?.only;
  return contract === undefined || id === undefined ? null : { id, planPath: contract.taskPath };
}

/** Refuses to resume a loop on one task of a plan by itself: parallel loops may be committing. */
export function refuseAlone(files: LoopFiles, isSupervised: boolean, { env, values }: CommandContext): void {
  const loopId =
    readContract(files)?.contract.loopId ?? (values['resume'] === true ? lastLoopIn(files)?.loopId : null) ?? null;
  const part = isSupervised || loopId === null ? null : partOfPlan(files, loopId);
  if (part === null) return;
  requireRunOf(part, files, env);
  const text = PART_TEXTS.onlyInParallel(part.id, part.planPath);
  throw new RalphError('refused', advise(text, 'Resume all of them from the project', 'resume'));
}

/** Refuses to resume a loop on one task of a plan whose run is over: the project may have another run or loop by now. */
export function requireRunOf(part: PartOfPlan, { projectDir, name }: LoopFiles, env: NodeJS.ProcessEnv): void {
  const run = findBatch(mainProjectOf(projectDir) ?? projectDir, env);
  // A problem of its record is reported where it is read.
  if (run instanceof RalphError || run?.tasks.some((task) => task.name === name)) return;
  const command = `run ${quoted(part.planPath)} --plan --parallel 2`;
  throw new RalphError('refused', advise(PART_TEXTS.runOver(part.id, part.planPath), 'Start the plan again', command));
}

async function leaveMain(context: CommandContext, plan: string, branch: string, mayAsk: boolean): Promise<void> {
  const { projectDir, env } = context;
  const name = planBranch(plan);
  if (context.values['dry-run'] === true) return context.err(withPrefix(PLAN_TEXTS.mainBranch(branch, name)));
  const there = await runGit(projectDir, ['show-ref', '--verify', '--quiet', `refs/heads/${name}`], { env });
  // An existing branch may contain another version of the plan.
  if (there.kind === 'answer') throw new RalphError('refused', PLAN_TEXTS.branchIsThere(branch, name));
  const agreed = mayAsk && (await agrees(`A plan is not executed on ${branch}. Create the branch ${name} for it?`));
  if (!agreed) throw new RalphError('refused', PLAN_TEXTS.mainBranch(branch, name));
  // This changes no file, and runs no hook: the user has agreed only to the branch.
  const made = await changeByGit({ directory: projectDir, words: ['switch', '--quiet', '-c', name], env });
  if (!made.ok) throw new RalphError('refused', made.said);
  context.err(withPrefix(`switched to the branch ${name}.`));
}
