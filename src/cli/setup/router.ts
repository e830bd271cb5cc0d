import { routerCall } from '../../drive/router/call.ts';
import { assignedSpawn, holdOf, lastSpawn, type RouterOptions } from '../../drive/router/router.ts';
import { over } from '../../drive/router/router-driver.ts';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { hostSession } from '../../hosts/claude/host-session.ts';
import { bundleDir } from '../../install/project-files.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { isTerminal } from '../../term/write-text.ts';
import { advise, RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import { parseDuration } from '../../text/time.ts';
import { liveLoops, onlyOf } from '../choose-loop.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';
import { runnerLines } from '../runner-lines.ts';
import { LEFT } from '../start/first-checks.ts';
import { PLAN_OPTIONS, TASK_OPTIONS } from '../start/start-options.ts';
import { withInput } from '../start/start-request.ts';
import { reportOf } from './router-report.ts';
import { startRouterLoop } from './router-start.ts';

const ACTIONS = ['start', 'next', 'report', 'status'] as const;
export const ROUTER_COMMAND: Command = {
  name: 'router',
  usage: 'ACTION [options]',
  help: 'ACTION is start, next, report or status: a Claude Code session calls them to run each iteration of a loop in a subagent. start and next print what to do: spawn a subagent, wait or stop. report takes the final message of the subagent and prints what to do next.',
  example: 'ralph-loop router report --spawn 3 --file reply.txt',
  options: {
    ...TASK_OPTIONS,
    ...PLAN_OPTIONS,
    ...options({
      'max-iterations N': 'start: limit of iterations, 1-100; for task folders 1-50.',
      'set KEY=VALUE...': 'start: any frontmatter setting.',
      resume: 'start: resume the live or last archived loop.',
      fresh: 'start: archive an interrupted loop and start over.',
      'spawn N': 'report: number of the spawn, from the answer.',
      'agent ID': "report: id of the subagent; its reply is read from the client's transcript.",
      'file PATH': 'report: file with the final message; "-" is standard input.',
      'error WHY': 'report: why the subagent could not work.',
      'wait TIME': 'Wait for up to this time, such as 10m, before answering.',
    }),
  },
  async run(commandLine) {
    const action = actionOf(commandLine);
    const context = action === 'start' ? await withInput(commandLine) : commandLine;
    const files = routerLoop(context, action);
    if (action === 'status') {
      context.json(statusOf(context, files));
      return 0;
    }
    const report = action === 'report' ? await reportOf(context) : null;
    const loop = action === 'start' ? await startRouterLoop(context) : files;
    if (loop === null) return LEFT;
    // A loop that the user starts belongs to the first session that calls `next`.
    if (action === 'start' && context.atTerminal && !isAgent(context.env)) return ready(context, loop);
    const answer = await routerCall(loop, optionsFor(context, loop), report);
    if (answer === null) return 143;
    context.json(answer);
    return 0;
  },
};

function actionOf({ positionals }: CommandContext) {
  const [word, ...more] = positionals;
  const action = ACTIONS.find((name) => name === word);
  if (action !== undefined && more.length === 0) return action;
  const said = positionals.length === 0 ? 'the action is missing.' : `"${positionals.join(' ')}" is not an action.`;
  throw new RalphError('usage', advise(said, 'Usage', `router ${ACTIONS.join(' | ')}`));
}

function ready({ out }: CommandContext, { name }: LoopFiles): number {
  out(`The loop is ready. In a Claude Code session of this project: /ralph-loop${name === null ? '' : ` ${name}`}`);
  return 0;
}

function optionsFor({ env, now, values, err }: CommandContext, { name }: LoopFiles): Omit<RouterOptions, 'signal'> {
  const main = `${bundleDir()}/scripts/main.cjs`;
  const shown = /^[\w./-]+$/.test(main) ? main : shellWord(main);
  const where = typeof values['project'] === 'string' ? ` --project ${shellWord(values['project'])}` : '';
  return {
    env,
    now,
    program: `node ${shown}`,
    options: `${name === null ? '' : ` --loop ${name}`}${where}`,
    sitUntil: sitUntil(values['wait']),
    tell: (event) => {
      const lines = isTerminal(2) ? runnerLines(event) : [];
      if (lines.length > 0) err(lines.join('\n'));
    },
  };
}

function sitUntil(wait: unknown): number {
  if (typeof wait !== 'string') return 0;
  const milliseconds = parseDuration(wait);
  if (milliseconds !== null) return Date.now() + milliseconds;
  throw new RalphError('usage', `--wait ${wait}: use a duration such as 90s or 10m.`);
}

/**
 * Returns the named loop, else this session's or the only live router loop, else the default one. Answers name every loop but the
 * default one, so a call without a name is about that one if it is among several.
 */
function routerLoop(context: CommandContext, action: string): LoopFiles {
  if (context.files.name !== null || action === 'start') return context.files;
  const live = liveLoops(context).filter(({ found }) => found.kind === 'loop' && found.state.mode === 'router');
  const host = hostSession(context.env);
  const mine = live.filter(({ found }) => found.kind === 'loop' && holdOf(found.state, host) === 'mine');
  const eligible = mine.length > 0 ? mine : live;
  if (action !== 'status' && eligible.some(({ files }) => files.name === null)) return context.files;
  const chosen = onlyOf(eligible, 'router loops are live here', `router ${action} --loop NAME`);
  return chosen?.files ?? context.files;
}

function statusOf({ env }: CommandContext, files: LoopFiles) {
  const { found, live, lastLoop } = describeLoop(files, env);
  if (found.kind !== 'loop' || live === null) {
    const { status, message, verified, proof, loopId } = over(files, { program: programName() });
    // A loop that has ended but is not in the archive yet.
    const ended = found.kind === 'loop' && lastLoop ? { status: lastLoop.status, message: lastLoop.message } : {};
    return { active: false, loop: files.name, loopId, status, message, verified, proof, ...ended };
  }
  const { state } = found;
  const { status, mode, loopId, iteration, maxIterations, idleIterations, taskPath, sessionId, clientPid } = live;
  const answer = (mode === 'router' && assignedSpawn(files, state)?.answer) || null;
  const hold = mode === 'router' ? holdOf(state, hostSession(env)) : 'theirs';
  return {
    active: true,
    loop: files.name,
    loopId,
    mode,
    status,
    iteration,
    maxIterations,
    idleIterations,
    taskPath,
    holder: { sessionId, pid: clientPid, hold },
    spawn: answer && { spawn: answer.spawn, iteration: answer.iteration, agentType: answer.agentType },
    handedOut: lastSpawn(files, state),
    message: `${status}, ${iteration} of ${maxIterations} iterations done, on ${taskPath}.`,
  };
}
