import { findBatch } from '../../drive/parallel/batch.ts';
import { type Supervisor, supervisorOf } from '../../drive/parallel/supervise.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { hostNamed, hostOf } from '../../hosts/hosts.ts';
import { type LoopFiles, loopFiles, readContract } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { outliveHangUp } from '../../state/process/signals.ts';
import { withoutPlace } from '../../task/git/run-git.ts';
import { advise, RalphError } from '../../text/message.ts';
import { liveLoops, onePath, onlyOf } from '../choose-loop.ts';
import { type Command, type CommandContext, valuesOf } from '../command.ts';
import { RECOMMENDED, YES_MEANS } from '../permission-modes.ts';
import { CHECKS_OFFERED } from '../start/start-plan.ts';
import { startFlags, withInput } from '../start/start-request.ts';
import { removeDrafts } from '../task/scaffold.ts';
import { dryRun } from './dry-run.ts';
import { ONE_LOOP } from './left-run.ts';
import type { Review } from './review-start.ts';
import { runTask } from './run-task.ts';
import { type RunManner, runToEnd } from './run-to-end.ts';

/** Runs what the command line names: a loop, the loop that an agent requested, or several tasks. Returns the exit code. */
export async function runWords(context: CommandContext, command: Command): Promise<number> {
  outliveHangUp();
  const supervisor = supervisorOf(context.env);
  try {
    return await runAs(await withInput(context), command, supervisor);
  } catch (error) {
    supervisor?.tellFailure(error);
    throw error;
  }
}

async function runAs(input: CommandContext, command: Command, supervisor: Supervisor | null): Promise<number> {
  const { agent } = input.values;
  hostOf(hostNamed(typeof agent === 'string' ? agent : null) ?? undefined).requireArgs(input.rest, 'run');
  if (isBatch(input)) {
    const { runParallel } = await import('./batch/run-parallel.ts');
    return runParallel({ ...input, env: withoutPlace(input.env) }, command);
  }
  const { context, drafted } =
    input.values['consent'] === true ? { context: requestedLoop(input), drafted: null } : await runTask(input);
  const review: Review = { drafted: drafted === null ? [] : [drafted], isKept: false };
  const isShown = drafted !== null && asks(context);
  try {
    if (context.values['dry-run'] === true) return await dryRun(context, review);
    return await withMode(context, input.projectDir, { supervisor, review, isShown });
  } finally {
    if (!review.isKept) removeDrafts(input, review.drafted);
  }
}

function asks({ mayAsk, values }: CommandContext): boolean {
  return mayAsk && values['yes'] !== true;
}

/** Returns whether the command line is about several tasks: it names or resumes them. */
function isBatch({ positionals, values, files, projectDir, env }: CommandContext): boolean {
  if (positionals.length > 1 || values['parallel'] !== undefined || values['integrate'] !== undefined) return true;
  if (values['issue'] !== undefined || values['issues'] !== undefined) return true;
  const isNamed =
    positionals.length > 0 || ['task', 'path', 'consent', ONE_LOOP].some((key) => values[key] !== undefined);
  return values['resume'] === true && !isNamed && files.name === null && findBatch(projectDir, env) !== null;
}

/** Runs the loop; if it lacks a permission mode, proposes one to the user and runs it again. */
async function withMode(context: CommandContext, projectDir: string, manner: RunManner): Promise<number> {
  try {
    return await runToEnd(context, projectDir, manner);
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'mode-missing') throw error;
    if (!context.mayAsk && context.values['yes'] !== true) throw error;
    if (!asks(context)) context.err(withPrefix(YES_MEANS));
    const values = { ...context.values, 'permission-mode': RECOMMENDED, [CHECKS_OFFERED]: true };
    return runToEnd({ ...context, values }, projectDir, { ...manner, isShown: asks(context) });
  }
}

/** Finds the loop of `run --consent [NAME]`; the agent's settings apply unless the user gives others. */
function requestedLoop(context: CommandContext): CommandContext {
  const { values } = context;
  const stray = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (stray !== undefined)
    throw new RalphError('usage', `--consent starts a loop as it was requested: it takes no --${stray}.`);
  const files = loopAwaitingRun(context);
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const { contract } = stored;
  const flags = startFlags(context);
  const former = Object.entries(contract.flags).filter(([key]) => flags[key] === undefined);
  const set = [...former.map(([key, value]) => `${key}=${value}`), ...valuesOf(context, 'set')];
  const own = { set, resume: true, loop: files.name ?? undefined, tdd: contract.tdd !== undefined || undefined };
  return { ...context, files, positionals: [], values: { ...values, ...own } };
}

/** Returns the loop that awaits a run. A router's loop stays with its session, and `start --consent` approves it. */
function loopAwaitingRun(context: CommandContext): LoopFiles {
  const { positionals, values, projectDir, env } = context;
  const word = onePath('run --consent', positionals);
  if (word !== null && values['loop'] !== undefined) throw new RalphError('usage', 'name the loop once.');
  const name = word ?? context.files.name;
  const ownDir = loopFiles(projectDir, null, env).projectDir;
  const waiting = liveLoops(context).filter(
    ({ found, files, status }) =>
      files.projectDir === ownDir &&
      status === 'awaiting-consent' &&
      (found.kind !== 'loop' || found.state.mode !== 'router') &&
      (name === null || files.name === name),
  );
  const only = onlyOf(waiting, 'loops await your consent', 'run --consent NAME');
  if (only !== undefined) return only.files;
  const which = name === null ? 'no loop here awaits' : `there is no loop ${name} here that awaits`;
  throw new RalphError('no-loop', advise(`${which} your consent.`, 'List the loops', 'list'));
}
