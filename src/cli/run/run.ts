import { requireClient } from '../../claude/find-client.ts';
import { runLoop } from '../../drive/runner/run-loop.ts';
import { type RunnerOptions, runnerTimeouts } from '../../drive/runner/runner.ts';
import { prepareContract } from '../../drive/start/prepare-contract.ts';
import { type StartedLoop, startLoop } from '../../drive/start/start-loop.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { rateLimitWait } from '../../drive/turn/wait.ts';
import { ringBell } from '../../term/write-text.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { ask } from '../ask.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { approveStart } from '../start/approve.ts';
import { PLAN_OPTIONS, SETTING_OPTIONS, TASK_OPTIONS } from '../start/start-options.ts';
import { planToStart, refuseOverLoop } from '../start/start-plan.ts';
import { startRequest, startTarget } from '../start/start-request.ts';
import { printWarnings, withStartPoint } from '../start/start-warnings.ts';
import { withInput } from '../start/with-input.ts';
import { handleRunningLoop } from './handle-running-loop.ts';
import { inWorktree, worktreeText } from './in-worktree.ts';
import { requestedLoop } from './requested-loop.ts';
import { runTask } from './run-task.ts';
import { runnerAgent } from './runner-agent.ts';
import { loopView } from './runner-lines.ts';

export const RUN_COMMAND: Command = {
  name: 'run',
  summary: 'Run a loop, each iteration in a new Claude Code.',
  usage: '[TASK | NAME | "PLAIN WORDS"] [options] [-- CLIENT OPTIONS]',
  help: 'Works on a task file or task folder until it is done or a limit is reached; each iteration is a new Claude Code. NAME works on the checklist .ralph/NAME/task.md and creates it if it is missing. PLAIN WORDS (quoted) draft .ralph/NAME/RALPH.md for review and start it.',
  example: 'ralph-loop run tasks/docs --max-iterations 10',
  options: {
    ...TASK_OPTIONS,
    ...options({
      resume:
        'Resume the live or last archived loop; counters are kept. Options are kept, too, except --permission-mode.',
      fresh: 'Archive an interrupted loop and start over.',
      consent: 'Approve and run the loop that an agent requested.',
      worktree: 'Run in the git worktree .ralph/worktrees/NAME.',
      'worktree-setup CMD': 'Shell command that sets up a new worktree.',
      'agent CMD': 'Use another command-line agent, without guardrails.',
    }),
    ...PLAN_OPTIONS,
    ...SETTING_OPTIONS,
    ...options({
      plain: 'Print plain lines, also in a terminal.',
      yes: 'Start without asking; the permission mode is then acceptEdits unless one is given.',
    }),
  },
  control: true,
  async run(commandLine) {
    const input = withInput(commandLine);
    const context = input.values['consent'] === true ? requestedLoop(input) : await runTask(input);
    if (context === null) return 0;
    return askForMode(context, (run) => runToEnd(run, input.projectDir));
  },
};

async function runToEnd(run: CommandContext, projectDir: string): Promise<number> {
  const { context: place, worktree } = await inWorktree(run);
  const context = await handleRunningLoop({ ...place, files: startTarget(place, 'run').files });
  if (context === null) return 0;
  const target = startTarget(context, 'run');
  const { files, task } = target;
  const { env } = context;
  const waits = runnerTimeouts(env);
  rateLimitWait(env, 0); // throws for an invalid value
  refuseOverLoop(context, files);
  const plan = await planToStart(context, files, task, context.mayAsk);
  const client = once(() => requireClient(env));
  const request = startRequest(context, target, {
    plan,
    headless: true,
    launched: true,
    consented: true,
    clientVersion: () => client().version,
    clientArgs: context.rest,
    mode: 'runner',
  });
  const approved = await approveStart(context, files, request);
  if (approved === null) return 1;
  prepareContract(request); // throws where a permission mode is missing, before anything is shown
  const noted = await withStartPoint(context, request, worktree === null);
  const start = (): StartedLoop => startLoop({ ...noted, ...(approved && { approved }) });
  const { tell, live, close } = await loopView(context);
  let bell = false;
  try {
    const { code } = await runLoop(files, start, (started): RunnerOptions => {
      bell = started.settings.notify.bell;
      printWarnings(context, started);
      return { ...runnerAgent(context, started, client), env, timeouts: waits, tell, ...(live && { live }) };
    });
    return code;
  } finally {
    close();
    if (bell) ringBell();
    if (worktree !== null) context.err(worktreeText(projectDir, worktree, env));
  }
}

/** Calls the function at most once: asking the client for its version takes a moment. */
function once<T extends object>(find: () => T): () => T {
  let result: T | null = null;
  return () => {
    result ??= find();
    return result;
  };
}

const MODES = `What may the agent do without asking?
  acceptEdits        Write files in the project and run the checks that the task names.
  auto               What the client itself judges to be safe.
  bypassPermissions  Everything that you may do on this machine; use it in a sandbox.`;

/** Runs the loop; if it needs a permission mode, asks the user at the terminal for one and runs it again. */
async function askForMode(context: CommandContext, run: (context: CommandContext) => Promise<number>): Promise<number> {
  try {
    return await run(context);
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'mode-missing') throw error;
    const mode = context.values['yes'] === true ? modeByYes(context) : await askMode(context, error.message);
    if (mode === null) throw error;
    if (mode === '') return 1;
    return run({ ...context, values: { ...context.values, 'permission-mode': mode } });
  }
}

function modeByYes({ err }: CommandContext): string {
  err(withPrefix('--yes without a permission mode means acceptEdits: the agent may write files and run the checks.'));
  return 'acceptEdits';
}

/** Returns the answer, '' for none, and null where there is no terminal. */
async function askMode({ mayAsk, err }: CommandContext, why: string): Promise<string | null> {
  if (!mayAsk) return null;
  err(`${withPrefix(why)}\n${MODES}`);
  return (await ask('Permission mode, or nothing to leave it: ')) ?? '';
}
