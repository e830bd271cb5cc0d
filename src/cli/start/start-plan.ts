import { PLAN_TEXTS } from '../../drive/plan/messages.ts';
import { checkPlanStart, hasBranch, makePlanBranch, planBranch } from '../../drive/plan/plan-start.ts';
import { checkExistingLoop } from '../../drive/start/existing-loop.ts';
import { lastLoopIn } from '../../drive/start/find-task.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { hideRuntimeDir } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { projectSignals } from '../../task/draft/project-signals.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { agrees } from '../ask.ts';
import { type CommandContext, type OptionDefinition, options } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { existingLoopPolicy } from './start-request.ts';

/** How a plan is executed, for every command that begins a loop. */
export const PLAN_OPTIONS: Readonly<Record<string, OptionDefinition>> = options({
  plan: 'The task file is a plan of tasks: one after the other is worked on, verified and committed.',
  'from TASK': 'The task of the plan to begin from: --from "Task 5".',
  'max-tasks N': 'Tasks done before the plan pauses for review, 1 to 100; 5 by default.',
});

/**
 * What a start with --plan means, checked; null for every other. The loop that a start goes on with says by itself that
 * it is one over a plan. On a main branch a person at the terminal is offered a branch (`mayAsk`). Throws RalphError
 * with everything that stands against it.
 */
export async function planToStart(
  context: CommandContext,
  files: LoopFiles,
  task: string | null,
  mayAsk: boolean,
): Promise<{ readonly from: string | null } | null> {
  const { values, env, projectDir } = context;
  const resumes = values['resume'] === true;
  // Whoever goes on with a loop, or agrees to one, need not say again what it is.
  const before = resumes || values['consent'] === true ? lastLoopIn(files) : null;
  const wanted = values['plan'] === true || before?.plan !== undefined;
  if (!wanted) {
    const stray = ['from', 'max-tasks'].find((name) => values[name] !== undefined);
    if (stray !== undefined) throw new RalphError('usage', `--${stray} is for a plan: give --plan as well.`);
    return null;
  }
  if (task === null)
    throw new RalphError(
      'usage',
      'which plan? Give its file, as in: run PLAN.md --plan, or router start --task PLAN.md --plan.',
    );
  const asked = values['consent'] === true ? (readContract(files)?.contract.policy.plan?.from ?? null) : null;
  const from = typeof values['from'] === 'string' ? values['from'] : asked;
  const resumed = resumes && before !== null ? { files, state: before } : null;
  const start = await checkPlanStart({ projectDir, planPath: task, from, resumed, env });
  for (const note of start.notes) context.err(withPrefix(note));
  if (start.mainBranch !== null) await leaveMain(context, task, start.mainBranch, mayAsk);
  // A tree that is clean after each task has no state of the loop in it.
  hideRuntimeDir(files);
  return { from: start.from };
}

/**
 * Refuses to begin a plan over a loop that is at work, before a word is said on the files that it works on. Throws
 * RalphError.
 */
export function refuseOverLoop({ values, env }: CommandContext, files: LoopFiles): void {
  if (values['plan'] !== true) return;
  const request = { existing: existingLoopPolicy(values), consented: !isAgent(env) };
  checkExistingLoop(readState(files.state), request);
}

/** What the command line says of a plan, not checked; null where it does not say that the task is one. */
export function requestedPlan({ values }: CommandContext): { readonly from: string | null } | null {
  const { plan, from } = values;
  return plan === true ? { from: typeof from === 'string' ? from : null } : null;
}

/** That a plan names no command to verify its tasks with, and what the project offers; null where it names some, and for every other loop. */
export function offeredValidation({ projectDir }: CommandContext, { policy, validation }: Contract): string | null {
  if (!policy.plan || validation.length > 0) return null;
  const commands = projectSignals(projectDir).commands.map(({ run }) => run);
  return commands.length === 0 ? PLAN_TEXTS.nothingOffered : PLAN_TEXTS.offered(commands);
}

async function leaveMain(context: CommandContext, plan: string, branch: string, mayAsk: boolean): Promise<void> {
  const name = planBranch(plan);
  // What lies on it is another state of the plan, which nobody has looked at yet.
  if (await hasBranch(context.projectDir, name, context.env)) {
    throw new RalphError('refused', PLAN_TEXTS.branchIsThere(branch, name));
  }
  const agreed = mayAsk && (await agrees(`A plan is not executed on ${branch}. Make the branch ${name} for it?`));
  if (!agreed) throw new RalphError('refused', PLAN_TEXTS.mainBranch(branch, name));
  await makePlanBranch(context.projectDir, name, context.env);
  context.err(withPrefix(`on the branch ${name} now.`));
}
