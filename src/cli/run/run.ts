import { hasBatch } from '../../drive/parallel/batch.ts';
import { type Supervisor, supervisorOf } from '../../drive/parallel/supervised.ts';
import { runLoop } from '../../drive/runner/run-loop.ts';
import { type RunnerOptions, runnerTimeouts } from '../../drive/runner/runner.ts';
import { withBaseline, withGivenBaseline } from '../../drive/start/baseline.ts';
import { takeFixedTerms } from '../../drive/start/portable-terms.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import { type StartedLoop, startLoop } from '../../drive/start/start-loop.ts';
import { START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import { rateLimitWait } from '../../drive/turn/wait.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { clientFinder, hostNamed, hostOf } from '../../hosts/hosts.ts';
import { refuseOtherLoops } from '../../install/settings/stop-hooks.ts';
import { type LoopFiles, loopFiles, readContract } from '../../state/loop-files.ts';
import { outliveHangUp } from '../../state/process/signals.ts';
import { ringBell } from '../../term/write-text.ts';
import { advise, RalphError } from '../../text/message.ts';
import { askForMode } from '../ask.ts';
import { liveLoops, onePath, onlyOf } from '../choose-loop.ts';
import { type Command, type CommandContext, options, valuesOf } from '../command.ts';
import { handleRunningLoop } from '../control/handle-running-loop.ts';
import { loopView } from '../runner-lines.ts';
import { askSandbox, printWarnings, withStartPoint } from '../start/approve.ts';
import { LEFT, runFirstChecks } from '../start/first-checks.ts';
import { PLAN_OPTIONS, SETTING_OPTIONS, TASK_OPTIONS } from '../start/start-options.ts';
import { planToStart, refuseAlone, refuseOverLoop } from '../start/start-plan.ts';
import { startFlags, startRequest, startTarget, withInput } from '../start/start-request.ts';
import { agreedStart } from '../start/try-commits.ts';
import { noWeb } from '../web/no-web.ts';
import { inWorktree } from './in-worktree.ts';
import { runTask } from './run-task.ts';
import { hostHooks, runnerAgent } from './runner-agent.ts';
import { worktreeText } from './worktree-text.ts';

export const RUN_COMMAND: Command = {
  name: 'run',
  summary: 'Run a loop with a new Claude Code per iteration.',
  usage: '[TASK | NAME | "PLAIN WORDS"]... [options] [-- CLIENT OPTIONS]',
  help: 'Works on a task until it is done or a limit is reached; each iteration starts a new Claude Code. NAME works on the checklist .ralph/NAME/task.md and creates it if missing. PLAIN WORDS (quoted) draft .ralph/NAME/RALPH.md for review and start it; several tasks run in worktrees, under one budget.',
  example: 'ralph-loop run tasks/docs --max-iterations 10',
  options: {
    ...TASK_OPTIONS,
    ...options({
      resume: 'Resume the live or last archived loop; keeps its counters, and its options except --permission-mode.',
      fresh: 'Archive an interrupted loop and start over.',
      consent: 'Approve and run the loop that an agent requested.',
      worktree: 'Run in the git worktree .ralph/worktrees/NAME.',
      'worktree-setup CMD': 'Shell command that sets up a new worktree.',
      'agent CMD': 'Use another command-line agent, without guardrails.',
      'parallel N': 'Tasks to work on at once; auto is half of the cores.',
      'integrate HOW': 'Afterwards merge, rebase or pr; default: none.',
    }),
    ...PLAN_OPTIONS,
    ...SETTING_OPTIONS,
    ...options({
      'report FILE': 'Write an HTML report to this file at the end.',
      plain: 'Print plain lines, even in a terminal.',
      'require-verified': 'Exit with 3 if the loop completes unverified.',
      yes: 'Ask nothing; permission mode acceptEdits by default.',
    }),
  },
  control: true,
  async run(context) {
    outliveHangUp();
    const supervisor = supervisorOf(context.env);
    try {
      return await runAs(withInput(context), supervisor);
    } catch (error) {
      supervisor?.tellFailure(error);
      throw error;
    }
  },
};

async function runAs(input: CommandContext, supervisor: Supervisor | null): Promise<number> {
  const { agent } = input.values;
  hostOf(hostNamed(typeof agent === 'string' ? agent : null) ?? undefined).requireArgs(input.rest, 'run');
  if (isBatch(input)) {
    const { runParallel } = await import('./run-parallel.ts');
    return runParallel(input, RUN_COMMAND);
  }
  const context = input.values['consent'] === true ? requestedLoop(input) : await runTask(input);
  return context === null ? 1 : withMode(context, input.projectDir, supervisor);
}

/** Returns whether the command line is about several tasks: it names them or resumes them. */
function isBatch({ positionals, values, files, projectDir, env }: CommandContext): boolean {
  if (positionals.length > 1 || values['parallel'] !== undefined || values['integrate'] !== undefined) return true;
  const isNamed = positionals.length > 0 || ['task', 'path', 'consent'].some((key) => values[key] !== undefined);
  return values['resume'] === true && !isNamed && files.name === null && hasBatch(projectDir, env);
}

async function runToEnd(run: CommandContext, projectDir: string, supervisor: Supervisor | null): Promise<number> {
  const { context: place, worktree } = await inWorktree(run);
  const context = await handleRunningLoop({ ...place, files: startTarget(place, 'run').files });
  if (typeof context === 'number') return context;
  const target = startTarget(context, 'run');
  const { files, task } = target;
  const { env } = context;
  const fixed = takeFixedTerms(env);
  const waits = runnerTimeouts(env);
  rateLimitWait(env, 0); // throws for an invalid value
  refuseOverLoop(context, files);
  const part = supervisor?.part ?? null;
  const whole = await planToStart(context, files, task, context.mayAsk);
  const plan = whole && part ? { ...whole, only: part.task } : whole;
  refuseAlone(files, part !== null);
  const { report } = context.values;
  // Otherwise the user would learn only at the end that it cannot be written.
  if (typeof report === 'string') (await import('../web/write-report.ts').catch(noWeb)).placeOf(report, context);
  const find = clientFinder(env);
  const client: typeof find = (host) => {
    if (host === undefined) refuseOtherLoops(context.projectDir, env);
    return find(host);
  };
  const noted = await readyStart(context, target, { plan, part, isWorktree: worktree !== null, fixed, client });
  if (noted === null) return LEFT;
  const passed = await hostHooks(context, prepareContract(noted).terms.host, client);
  const start = (): StartedLoop => startLoop(noted);
  const { tell, live, close } = await loopView(context);
  let bell = false;
  try {
    const { code } = await runLoop(files, start, (started): RunnerOptions => {
      bell = started.settings.notify.bell;
      printWarnings(context, started);
      const shared = { ...(supervisor && { askPermit: supervisor.askPermit }), ...(part && { part }) };
      const requiresProof = context.values['require-verified'] === true;
      const agent = runnerAgent(context, started, client, passed);
      return { ...agent, env, timeouts: waits, tell, requiresProof, ...shared, ...(live && { live }) };
    });
    return code;
  } finally {
    close();
    if (bell) ringBell();
    if (worktree !== null) context.err(worktreeText(projectDir, worktree, env));
    if (typeof report === 'string') await reportAtEnd(context, files, report);
  }
}

interface StartOfRun {
  readonly plan: Awaited<ReturnType<typeof planToStart>>;
  readonly part: Supervisor['part'];
  readonly isWorktree: boolean;
  readonly fixed: ReturnType<typeof takeFixedTerms>;
  readonly client: ReturnType<typeof clientFinder>;
}

/** Asks what is open, runs the checks and records the start point. Returns null if the user leaves the start. */
async function readyStart(
  context: CommandContext,
  target: ReturnType<typeof startTarget>,
  { plan, part, isWorktree, fixed, client }: StartOfRun,
) {
  const asked = startRequest(context, target, {
    plan,
    headless: true,
    launched: true,
    consented: true,
    clientVersion: (host) => client(host).version,
    clientArgs: context.rest,
    mode: 'runner',
    fixed,
  });
  const request = await agreedStart(context, target.files, await askSandbox(context, asked));
  // Throws where a permission mode is missing, before anything is shown.
  const { terms } = prepareContract(request);
  if (context.values['worktree-setup'] !== undefined && !isWorktree && terms.verifyIn === undefined)
    throw new RalphError('usage', WORKTREE_TEXTS.noSetUp);
  const ready = await (part === null
    ? runFirstChecks(context, (options) => withBaseline(request, options))
    : withGivenBaseline(request, part.baseline));
  return ready === null ? null : withStartPoint(context, ready, !isWorktree);
}

/** Writes the requested report. A failure is reported and does not change the exit code: the loop itself has ended. */
async function reportAtEnd(context: CommandContext, files: StartedLoop['files'], out: string): Promise<void> {
  try {
    const { shownLoop, writeReport } = await import('../web/write-report.ts').catch(noWeb);
    const loop = shownLoop(files);
    if (loop !== null) context.err(withPrefix(`the report is in ${await writeReport(context, loop, out)}.`));
  } catch (error) {
    context.err(withPrefix(`the report could not be written: ${(error as Error).message}`));
  }
}

/** Runs the loop; if it needs a permission mode, asks the user for one and runs it again. */
async function withMode(context: CommandContext, projectDir: string, supervisor: Supervisor | null): Promise<number> {
  try {
    return await runToEnd(context, projectDir, supervisor);
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'mode-missing') throw error;
    const mode = await askForMode(context);
    if (mode === null) return 1;
    return runToEnd({ ...context, values: { ...context.values, 'permission-mode': mode } }, projectDir, supervisor);
  }
}

/** Finds the loop of `run --consent [NAME]`; the agent's settings apply unless the user gives others. */
function requestedLoop(context: CommandContext): CommandContext {
  const { values } = context;
  const stray = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (stray !== undefined) {
    throw new RalphError('usage', `--consent starts a loop as it was requested: it takes no --${stray}.`);
  }
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
