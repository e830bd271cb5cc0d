import { realpathSync } from 'node:fs';
import { approveStart, prepareAsked } from '../../drive/start/approve.ts';
import type { StartedLoop } from '../../drive/start/stages.ts';
import { startLoop } from '../../drive/start/start-loop.ts';
import { LAUNCH_TEXTS } from '../../drive/turn/messages.ts';
import { rateLimitWait } from '../../drive/turn/wait.ts';
import { clientFinder, hostNamed, hostOf, NAMED_HOSTS } from '../../hosts/hosts.ts';
import { refuseOtherLoops } from '../../install/settings/stop-hooks.ts';
import { callHere } from '../../state/process/program.ts';
import { outliveHangUp } from '../../state/process/signals.ts';
import { advise, commandLine, nullIfRefused, offer, RalphError } from '../../text/message.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { handleRunningLoop } from '../control/handle-running-loop.ts';
import { isAgent } from '../refuse-agent.ts';
import { asksQuestions, userOf } from './approver.ts';
import { consentToLoop } from './consent-to-loop.ts';
import { LEFT } from './first-checks.ts';
import { hostHooks, noSession, requireUserHooks } from './host-hooks.ts';
import { launchClient } from './launch-client.ts';
import { PLAN_OPTIONS, SETTING_OPTIONS, TASK_OPTIONS } from './start-options.ts';
import { requestStart, startTarget, withInput } from './start-request.ts';
import { printManualStartWarnings, printWarnings } from './warnings.ts';

export const START_COMMAND: Command = {
  name: 'start',
  usage: '[options] [-- CLIENT OPTIONS]',
  help: 'Reads and checks the task file, stores what the loop may run in a contract outside the project, and creates the loop. With --launch it also starts Claude Code, waits, and exits with the exit code of the loop. The loop of a task folder is named after the folder unless --loop gives a name.',
  example: 'ralph-loop start --task tasks/docs --launch',
  options: {
    ...TASK_OPTIONS,
    ...options({
      launch: 'Start the client for the loop and wait for it.',
      [`agent ${NAMED_HOSTS.map(({ name }) => name).join('|')}`]: 'Use this client in place of Claude Code.',
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
    const input = await withInput(commandLine);
    const found = startTarget(input);
    const { agent = found.formerFlags['agent'] } = input.values;
    const host = hostNamed(typeof agent === 'string' ? agent : null) ?? undefined;
    hostOf(host).requireArgs(input.rest, 'start');
    if (input.rest.length > 0 && input.values['launch'] !== true)
      throw new RalphError('usage', LAUNCH_TEXTS.forLaunch(input.rest));
    const byAgent = isAgent(input.env);
    const named = { ...input, files: found.files };
    if (input.values['consent'] === true) return consentToLoop(named, byAgent);
    const context = byAgent ? named : await handleRunningLoop(named);
    if (typeof context === 'number') return context;
    const target = { ...found, files: context.files };
    const { values } = context;
    if (byAgent && values['launch'] === true) {
      const ways = { 'It asks for a loop with': 'start', 'The user then agrees in a terminal with': 'consent' };
      throw new RalphError('refused', offer('an agent cannot launch a client.', ways));
    }
    const mode = modeOf(values, byAgent);
    if (mode === 'hook' && host === undefined && typeof input.values['agent'] === 'string')
      throw new RalphError('usage', noSession(input.values['agent']));
    const asks = !byAgent && asksQuestions(context);
    if (values['adopt-validation'] === true) {
      const { adoptValidation } = await import('./adopt-validation.ts');
      if (!(await adoptValidation(context, target.task))) return 1;
    }
    const launched = values['launch'] === true;
    if (launched) rateLimitWait(context.env, 0); // throws for an invalid value
    const find = clientFinder(context.env);
    if (hostOf(host).readsClaudeSettings) refuseOtherLoops(context.projectDir, context.env);
    // A client that is too old is refused, even for a later start by hand; a missing one only if it is needed.
    const client = byAgent ? null : launched ? find(host) : nullIfRefused(() => find(host), 'client-missing');
    const headless = values['headless'] === true;
    const clientVersion = launched ? (client?.version ?? null) : null;
    const own = { launched, headless, consented: !byAgent, clientVersion, mode, host };
    const user = userOf(context);
    const request = await requestStart(context, target, own, asks);
    const prepared = await prepareAsked(request, user);
    // Before the checks, which may take long and would be in vain.
    if (!byAgent && mode === 'hook') await requireUserHooks(context, host, launched);
    const approved = await approveStart(prepared, user);
    if (approved === null) return LEFT;
    const hooks = launched ? await hostHooks(context, host, find, 'session') : [];
    const loop = startLoop(approved);
    const byHand = mode === 'hook' && !launched && !byAgent;
    printWarnings(context, loop, { version: client?.version ?? null, byHand });
    if (!launched && !byAgent) printManualStartWarnings(context, loop);
    return launched && client !== null
      ? launchClient(context, loop, client.path, hooks)
      : answerStart(context, loop, byAgent);
  },
};

/** Returns the mode of the loop. A loop requested by an agent runs by itself, not in a session of the user. */
function modeOf(values: CommandContext['values'], byAgent: boolean): 'hook' | 'runner' {
  const mode = values['mode'] ?? (byAgent ? 'runner' : 'hook');
  if (mode === 'router')
    throw new RalphError('usage', advise('--mode takes hook or runner.', 'Start a router', 'router start'));
  if (mode !== 'hook' && mode !== 'runner')
    throw new RalphError('usage', `--mode ${String(mode)}: use hook or runner.`);
  if (mode === 'runner' && values['launch'] === true)
    throw new RalphError('usage', advise('--launch starts a session, and --mode runner has none.', 'Run it', 'run'));
  return mode;
}

/** Says what starts or approves the loop that is now ready. Returns the exit code. */
function answerStart(context: CommandContext, loop: StartedLoop, byAgent: boolean): number {
  const { loopId, files, state } = loop;
  const { status, maxIterations, taskPath, mode } = state;
  const { contract, name } = files;
  const consent = byAgent ? commandFor('consent', loop) : null;
  context.answer({ success: true, loopId, name, mode, status, maxIterations, taskPath, contract, consent }, () => {
    if (consent !== null) return `The loop awaits the user's consent. Agree in a terminal: ${consent}`;
    const next = mode === 'runner' ? `Run it: ${commandFor('resume', loop)}` : byHand(loop);
    return `The loop ${name ?? loopId} is ready.\n${next}`;
  });
  return 0;
}

function commandFor(command: 'consent' | 'resume', { files, state }: StartedLoop): string {
  return commandLine({ command }, { name: files.name, mode: state.mode, ...callHere() });
}

function byHand({ loopId, files: { name, projectDir }, stored }: StartedLoop): string {
  const [variables, program] = hostOf(stored.contract.host).byHand;
  return [
    'Start the client for it, or run the same command with --launch, which does all of this:',
    ...(process.cwd() === realpathSync(projectDir) ? [] : [`  cd '${projectDir.replaceAll("'", "'\\''")}'`]),
    `  export ${variables}`,
    `  export RALPH_LOOP_ID=${loopId}${name === null ? '' : ` RALPH_LOOP=${name}`}`,
    `  ${program}`,
  ].join('\n');
}
