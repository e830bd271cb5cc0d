import { readEnd } from '../../claude/hook-io/stdio.ts';
import { hostSession } from '../../claude/host-session.ts';
import { readEndedSubagent } from '../../claude/transcript/subagent.ts';
import { routerCall } from '../../drive/router/call.ts';
import { holdOf } from '../../drive/router/holder.ts';
import { GIVE_TEXT } from '../../drive/router/messages.ts';
import { plainReport, REPORT_LIMIT, type Report } from '../../drive/router/report.ts';
import { assignedSpawn, lastSpawn, type RouterOptions } from '../../drive/router/router.ts';
import { isDriven, startRouter } from '../../drive/router/start.ts';
import { needsConsent, over } from '../../drive/router/status-answers.ts';
import { withBaseline } from '../../drive/start/baseline.ts';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { bundleDir } from '../../install/places.ts';
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
import { printWarnings, withStartPoint } from '../start/approve.ts';
import { LEFT, runFirstChecks } from '../start/first-checks.ts';
import { PLAN_OPTIONS, TASK_OPTIONS } from '../start/start-options.ts';
import { planToStart } from '../start/start-plan.ts';
import { startRequest, startTarget, withInput } from '../start/start-request.ts';
import { agreedStart } from '../start/try-commits.ts';

const ACTIONS = ['start', 'next', 'report', 'status'] as const;
export const ROUTER_COMMAND: Command = {
  name: 'router',
  summary: "Drive a loop with a session's subagents.",
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
    const context = action === 'start' ? withInput(commandLine) : commandLine;
    const files = routerLoop(context, action);
    if (action === 'status') {
      context.json(statusOf(context, files));
      return 0;
    }
    const report = action === 'report' ? await reportOf(context) : null;
    const loop = action === 'start' ? await start(context) : files;
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

/** Returns the files of the started loop, or of the one that this session already drives; null if a signal ended the start. */
async function start(context: CommandContext): Promise<LoopFiles | null> {
  const target = startTarget(context, 'router start');
  const { files, task } = target;
  const consented = !isAgent(context.env);
  const own = { mode: 'router', consented, headless: false, launched: false, clientVersion: null } as const;
  const request = startRequest(context, target, own);
  // A repeated start skips the check of the plan, because files of the current task are not committed.
  const { plan, from } = context.values;
  const requested = plan === true ? { from: typeof from === 'string' ? from : null } : null;
  if (isDriven(files, { ...request, plan: requested })) return files;
  const planned = await agreedStart(context, files, {
    ...request,
    plan: await planToStart(context, files, task, false),
  });
  const ready = await runFirstChecks(context, (options) =>
    withBaseline(planned, { ...options, mayRun: (contract) => consented || !needsConsent(files, contract) }),
  );
  if (ready === null) return null;
  const noted = await withStartPoint(context, ready, false);
  const started = startRouter(files, noted);
  if (started === null) return files;
  printWarnings(context, started);
  return files;
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

async function reportOf({ values, env }: CommandContext): Promise<Report> {
  const { spawn, agent, file, error } = values;
  const number = spawn === undefined ? null : Number(spawn);
  if (number !== null && !/^[1-9]\d{0,8}$/.test(String(spawn))) {
    throw new RalphError('usage', `--spawn ${String(spawn)}: use the number from the answer.`);
  }
  if ([agent, file, error].filter((given) => given !== undefined).length > 1) {
    throw new RalphError('usage', 'report takes one of --agent, --file and --error.');
  }
  const none = { spawn: number, agent: null, usage: null, error: null };
  if (typeof error === 'string') return { ...none, text: '', error: error.trim() || 'no reason was given' };
  if (typeof agent === 'string') return { ...none, agent, ...(await workOf(agent, env)) };
  return { ...none, text: plainReport(messageIn(typeof file === 'string' && file !== '-' ? file : null)) };
}

async function workOf(id: string, env: NodeJS.ProcessEnv): Promise<Pick<Report, 'text' | 'usage'>> {
  const work = await readEndedSubagent(id, env);
  const instead = `Pass its final message instead: ${GIVE_TEXT}`;
  if (work === null)
    throw new RalphError('usage', `the client has no record of a subagent ${id} in this session. ${instead}`);
  if (!work.finished)
    throw new RalphError(
      'usage',
      `subagent ${id} is still working, according to the client's record. Report when it has ended; if it was stopped: --error "WHY".`,
    );
  return { text: work.text, usage: work.usage };
}

function messageIn(file: string | null): Buffer {
  if (file === null && process.stdin.isTTY) {
    const text = 'pass the final message of the subagent: --agent ID, --file PATH, or on standard input.';
    throw new RalphError('usage', text);
  }
  try {
    return readEnd(file, REPORT_LIMIT);
  } catch (error) {
    throw new RalphError('usage', `the message cannot be read: ${(error as Error).message}`, error);
  }
}

/** Returns the named loop, else this session's or the only live router loop, else the default one. */
function routerLoop(context: CommandContext, action: string): LoopFiles {
  if (context.files.name !== null || action === 'start') return context.files;
  const live = liveLoops(context).filter(({ found }) => found.kind === 'loop' && found.state.mode === 'router');
  const host = hostSession(context.env);
  const mine = live.filter(({ found }) => found.kind === 'loop' && holdOf(found.state, host) === 'mine');
  const chosen = onlyOf(mine.length > 0 ? mine : live, 'router loops are live here', `router ${action} --loop NAME`);
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
