import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { requireClientArgs } from '../../claude/client-args.ts';
import { type FoundClient, requireClient } from '../../claude/find-client.ts';
import { takeBaseline, withBaseline } from '../../drive/start/baseline.ts';
import { giveConsent, pendingContract, pendingTerms } from '../../drive/start/consent.ts';
import { showTerms } from '../../drive/start/consent-terms.ts';
import { launch } from '../../drive/start/launch.ts';
import { type StartedLoop, startLoop } from '../../drive/start/start-loop.ts';
import { LAUNCH_TEXTS, START_TEXTS, withPrefix } from '../../drive/turn/messages.ts';
import { rateLimitWait } from '../../drive/turn/wait.ts';
import { exitCode } from '../../engine/exit-code.ts';
import { bundleDir } from '../../install/places.ts';
import { launcherSettings, userStatusLine } from '../../install/settings/session-settings.ts';
import { refuseOtherLoops } from '../../install/settings/stop-hooks.ts';
import { type LoopFiles, outsideRoot, readState } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { outliveHangUp } from '../../state/process/signals.ts';
import { ringBell } from '../../term/write-text.ts';
import { about, advise, commandLine, nullIfRefused, offer, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { handleRunningLoop } from '../control/handle-running-loop.ts';
import { isAgent } from '../refuse-agent.ts';
import { askSandbox, printManualStartWarnings, printWarnings, REQUEST_HEADING, withStartPoint } from './approve.ts';
import { LEFT, runFirstChecks } from './first-checks.ts';
import { withSandbox } from './sandbox-settings.ts';
import { PLAN_OPTIONS, SETTING_OPTIONS, TASK_OPTIONS } from './start-options.ts';
import { planToStart, refuseOverLoop } from './start-plan.ts';
import { modeIn, startRequest, startTarget, withInput } from './start-request.ts';
import { agreedStart } from './try-commits.ts';

export const START_COMMAND: Command = {
  name: 'start',
  summary: 'Start a loop in a Claude Code session.',
  usage: '[options] [-- CLIENT OPTIONS]',
  help: 'Reads and checks the task file, stores what the loop may run in a contract outside the project, and creates the loop. With --launch it also starts Claude Code, waits, and exits with the exit code of the loop. The loop of a task folder is named after the folder unless --loop gives a name.',
  example: 'ralph-loop start --task tasks/docs --launch',
  options: {
    ...TASK_OPTIONS,
    ...options({
      launch: 'Start Claude Code for the loop and wait for it.',
      headless: 'Launch without a terminal; needs --permission-mode.',
      'require-verified': 'Exit with 3 if the loop completes unverified.',
      resume: 'Resume the live or last archived loop; keeps its counters.',
      fresh: 'Archive an interrupted loop and start over.',
      consent: 'Approve the loop that an agent requested.',
      'mode MODE': 'Driver of the loop: hook (a session; default) or runner (ralph-loop run; default for agents).',
    }),
    ...PLAN_OPTIONS,
    ...SETTING_OPTIONS,
    ...options({
      'adopt-validation': 'First write the "## Validation Commands" into the frontmatter.',
      yes: 'Answer all questions with yes.',
    }),
  },
  async run(commandLine) {
    outliveHangUp();
    const input = withInput(commandLine);
    const target = startTarget(input);
    const { task } = target;
    requireClientArgs(input.rest, 'start');
    if (input.rest.length > 0 && input.values['launch'] !== true)
      throw new RalphError('usage', LAUNCH_TEXTS.forLaunch(input.rest));
    const byAgent = isAgent(input.env);
    const named = { ...input, files: target.files };
    if (input.values['consent'] === true) return consent(named, byAgent);
    const context = byAgent ? named : await handleRunningLoop(named);
    if (typeof context === 'number') return context;
    const { values, files } = context;
    if (byAgent && values['launch'] === true) {
      const ways = { 'It asks for a loop with': 'start', 'The user then agrees in a terminal with': 'consent' };
      throw new RalphError('refused', offer('an agent cannot launch a client.', ways));
    }
    const mode = modeOf(values, byAgent);
    if (values['adopt-validation'] === true) {
      const { adoptValidation } = await import('./adopt-validation.ts');
      if (!(await adoptValidation(context, task))) return 1;
    }
    const asks = !byAgent && asksQuestions(context);
    // The scenarios prove a test-first loop, and a plan offers what its project has.
    if (asks && values['tdd'] !== true && values['plan'] !== true) {
      const { askValidation } = await import('./adopt-validation.ts');
      await askValidation(context, task);
    }
    refuseOverLoop(context, files);
    const plan = await planToStart(context, files, task, asks);
    const launched = values['launch'] === true;
    if (launched) rateLimitWait(context.env, 0); // throws for an invalid value
    // A client that is too old is refused, even for a later start by hand; a missing one only if it is needed.
    const find = (): FoundClient => requireClient(context.env);
    refuseOtherLoops(context.projectDir, context.env);
    const client = byAgent ? null : launched ? find() : nullIfRefused(find, 'client-missing');
    const clientVersion = launched ? (client?.version ?? null) : null;
    const own = { launched, consented: !byAgent, clientVersion, mode, plan };
    const headless = values['headless'] === true;
    const asked = startRequest(context, { ...target, files }, { ...own, headless });
    const request = await agreedStart(context, files, await askSandbox(context, asked));
    const ready = await runFirstChecks(context, (options) => withBaseline(request, options));
    if (ready === null) return LEFT;
    const noted = await withStartPoint(context, ready, false);
    const loop = startLoop(noted);
    printWarnings(context, loop, client?.version ?? null);
    if (!launched && !byAgent) printManualStartWarnings(context, loop);
    return launched && client !== null ? launchClient(context, loop, client.path) : answer(context, loop, byAgent);
  },
};

async function launchClient(context: CommandContext, loop: StartedLoop, client: string): Promise<number> {
  const { env, values, rest } = context;
  const headless = values['headless'] === true;
  const own = launcherSettings({
    loopId: loop.loopId,
    name: loop.files.name,
    node: process.execPath,
    outsideRoot: outsideRoot(env),
    mainPath: join(bundleDir(), 'scripts', 'main.cjs'),
    userStatusLine: userStatusLine(context.projectDir, env),
  });
  const settings = withSandbox(own, loop, env);
  const { message, code } = await launch(loop, {
    client,
    headless,
    settings: JSON.stringify(settings),
    permissionMode: modeIn(rest) === null ? loop.settings.permissionMode : null,
    model: loop.settings.model,
    effort: loop.settings.effort,
    rest,
    env: { ...env, ...settings.env },
    say: (line) => context.err(withPrefix(line)),
    repeat: context.err,
    requiresProof: values['require-verified'] === true,
  });
  context.err(withPrefix(message));
  if (loop.settings.notify.bell) ringBell();
  return code;
}

function answer(context: CommandContext, loop: StartedLoop, byAgent: boolean): number {
  const { loopId, files, state } = loop;
  const { status, maxIterations, taskPath, mode } = state;
  const { contract, name } = files;
  const consent = byAgent ? commandFor('consent', loop) : null;
  context.answer({ success: true, loopId, name, mode, status, maxIterations, taskPath, contract, consent }, () => {
    if (consent !== null) return `The loop awaits the user's consent. Agree in a terminal: ${consent}`;
    const next = mode === 'runner' ? `Run it: ${commandFor('resume', loop)}` : byHand(loopId, files);
    return `The loop ${name ?? loopId} is ready.\n${next}`;
  });
  return 0;
}

function commandFor(command: 'consent' | 'resume', { files, state }: StartedLoop): string {
  return commandLine({ command }, { name: files.name, mode: state.mode, program: programName() });
}

/** Returns the mode of the loop. A loop requested by an agent runs by itself, not in a session of the user. */
function modeOf(values: CommandContext['values'], byAgent: boolean): 'hook' | 'runner' {
  const mode = values['mode'] ?? (byAgent ? 'runner' : 'hook');
  if (mode === 'router')
    throw new RalphError('usage', advise('--mode takes hook or runner.', 'Start a router', 'router start'));
  if (mode !== 'hook' && mode !== 'runner') {
    throw new RalphError('usage', `--mode ${String(mode)}: use hook or runner.`);
  }
  if (mode === 'runner' && values['launch'] === true) {
    throw new RalphError('usage', advise('--launch starts a session, and --mode runner has none.', 'Run it', 'run'));
  }
  return mode;
}

function byHand(loopId: string, { name, projectDir }: LoopFiles): string {
  return [
    'Start the client for it, or run the same command with --launch, which does all of this:',
    ...(process.cwd() === realpathSync(projectDir) ? [] : [`  cd '${projectDir.replaceAll("'", "'\\''")}'`]),
    '  export RALPH_ACTIVE=1 CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0',
    `  export RALPH_LOOP_ID=${loopId}${name === null ? '' : ` RALPH_LOOP=${name}`}`,
    '  claude',
  ].join('\n');
}

async function consent(context: CommandContext, byAgent: boolean): Promise<number> {
  if (byAgent)
    throw new RalphError('refused', advise('only the user can agree, in another terminal.', 'Agree', 'consent'));
  const terms = pendingTerms(context.files);
  const command = 'start --consent';
  const lines = showTerms(terms);
  const declined = about(START_TEXTS.notAgreed, { name: context.files.name, mode: 'hook' });
  const asked = { command, heading: REQUEST_HEADING, lines, question: 'Start it?', declined };
  const person = askInPerson(context.files, asked);
  const contract = pendingContract(context.files);
  const taken = await runFirstChecks(context, async (options) => {
    return { baseline: await takeBaseline(context.files, contract, contract.tdd !== undefined, options) };
  });
  if (taken === null) return LEFT;
  const agreed = { by: person, baseline: taken.baseline };
  const { after } = giveConsent(context.files, context.env, context.now(), terms, agreed);
  context.answer({ success: true, status: after.status }, () => `The loop is ${after.status}.`);
  return exitCode('complete');
}

/** Returns whether the user is at a terminal and has not answered all questions in advance. */
function asksQuestions({ files, mayAsk, values }: CommandContext): boolean {
  // A start over an existing loop may be refused, which would waste the answer.
  if (values['resume'] === true || readState(files.state).kind !== 'absent') return false;
  return mayAsk && values['yes'] !== true && values['headless'] !== true;
}
