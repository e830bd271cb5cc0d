import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { controlLoop, type FleetControl } from '../../fleet/control.ts';
import { plainUrl } from '../../fleet/git/place.ts';
import { closeWorkspace, staleWorkspaces } from '../../fleet/git/workspace.ts';
import { FleetKey, repositoryId } from '../../fleet/job.ts';
import { FLEET_TEXTS, WORKER_TEXTS } from '../../fleet/messages.ts';
import { checkKey, forgetOld, loopNamed } from '../../fleet/queue/loop-index.ts';
import { EventReader } from '../../fleet/queue/loop-streams.ts';
import { loopEnvironment } from '../../fleet/submission-terms.ts';
import { FleetWorker } from '../../fleet/worker/worker.ts';
import { isActivity } from '../../state/event-stream.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { withPrefix } from '../../state/process/program.ts';
import { advise, RalphError } from '../../text/message.ts';
import { parseDuration } from '../../text/time.ts';
import { type CommandContext, numberOf, valuesOf, wholeOf } from '../command.ts';
import { journalLine } from '../show/journal-line.ts';
import { addTasks } from './add-tasks.ts';
import { fleetDoctor, requeue } from './doctor.ts';
import { accountOf, connectFleet, type FleetContext, idOf, placeOfFleet, wordsOfOption } from './fleet-options.ts';
import { showStatus } from './status.ts';

/** Actions of `ralph-loop fleet`, by the word after it. */
const ACTIONS: Readonly<Record<string, (context: FleetContext) => Promise<number>>> = {
  worker: runWorker,
  add: addTasks,
  status: showStatus,
  logs: showLogs,
  steer: (context) => askLoop(context, 'steer'),
  pause: (context) => askLoop(context, 'pause'),
  resume: (context) => askLoop(context, 'resume'),
  cancel: (context) => askLoop(context, 'cancel'),
  retry: (context) => askLoop(context, 'retry'),
  doctor: requeue,
  dashboard: async (context) => (await import('./fleet-feed.ts')).serveFleet(context),
};

/** Runs one action of the fleet. Throws RalphError if packages, server or key are missing. */
export async function runFleet(given: CommandContext): Promise<number> {
  const [action = '', ...positionals] = given.positionals;
  const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (act === undefined) {
    const said = action === '' ? 'the action is missing.' : `fleet has no action ${action}.`;
    throw new RalphError('usage', advise(said, 'Help', 'fleet --help'));
  }
  const context = { ...given, positionals };
  if (action === 'doctor' && context.values['requeue'] !== true) return fleetDoctor(context);
  const runsOn = action === 'worker' || context.values['follow'] === true;
  const server = await connectFleet(context, action === 'dashboard' ? 'reconnect' : runsOn ? 'wait' : 'fail');
  try {
    const key = new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
    await checkKey(server, key);
    return await act({ ...context, server, key });
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'ReplyError') throw new RalphError('refused', FLEET_TEXTS.refuses(message), error);
    if (message === 'Connection is closed.') throw new RalphError('refused', FLEET_TEXTS.gone, error);
    throw error;
  } finally {
    await server.close();
  }
}

/** Sends a command to a loop. The words after the id are the message of `steer`. */
async function askLoop(context: FleetContext, kind: FleetControl): Promise<number> {
  const { positionals } = context;
  const text = kind === 'steer' ? positionals.slice(1).join(' ').trim() : '';
  if (kind === 'steer' && text === '') throw new RalphError('usage', FLEET_TEXTS.needsText);
  const loop = idOf({ ...context, positionals: kind === 'steer' ? positionals.slice(0, 1) : positionals });
  const done = await controlLoop(context, loop, kind, text);
  context.answer({ success: true, ...done, loop }, () => done.message);
  return 0;
}

const POLL_MS = 500;

/** Prints the events of a loop; with --follow, until Ctrl+C. */
async function showLogs(context: FleetContext): Promise<number> {
  const { server, values, forPeople, out, paint } = context;
  const { loopId } = await loopNamed(server, idOf(context));
  const reader = new EventReader(server, loopId);
  for (;;) {
    for (const { attempt, event } of await reader.read()) {
      const isDetail = isActivity(event['type']) && event['type'] !== 'iteration.ended';
      if (forPeople && isDetail && values['activity'] !== true) continue;
      out(forPeople ? journalLine(event, paint) : JSON.stringify({ attempt, ...event }));
    }
    if (values['follow'] !== true) return 0;
    await sleep(POLL_MS);
  }
}

const LOCK = 'RALPH_FLEET_LOCK';
const LOCK_MS = 30_000;
const DAY_MS = 24 * 3_600_000;
/** Number of cores for one loop, for an agent and its checks. */
const CORES = 3;

/** Works on loops of the fleet until a signal: the first one ends it after the current iterations, the second at once. */
async function runWorker(context: FleetContext): Promise<number> {
  const { server, key, env, err } = context;
  const place = placeOfFleet(context);
  const account = accountOf(context);
  const lockMs = lockTime();
  const slots = wholeOf(context, 'slots', Math.max(1, Math.floor(availableParallelism() / CORES)), 64);
  const repositories = valuesOf(context, 'repo').map((url) => repositoryId(plainUrl(url)));
  const notice = (text: string): void => {
    if (context.forPeople) err(withPrefix(text));
    else context.out(JSON.stringify({ type: 'notice', at: context.now(), message: text }));
  };
  // Work trees of killed workers: the state that matters is published.
  for (const stale of staleWorkspaces({ ...place, env: loopEnvironment(place, env) })) closeWorkspace(stale);
  const forget = (): Promise<void> => forgetOld(server, new Date(Date.now() - 30 * DAY_MS).toISOString());
  await forget();
  setInterval(() => void forget().catch((error: Error) => notice(error.message)), DAY_MS).unref();
  const worker = new FleetWorker({
    server,
    key,
    place,
    env,
    slots,
    account,
    repositories,
    notice,
    program: [...process.execArgv, process.argv[1] ?? ''],
    labels: wordsOfOption(context, 'labels'),
    limits: { maxCostUsd: numberOf(context, 'max-cost'), maxTokens: numberOf(context, 'max-tokens') },
    lockMs,
  });
  const isAway = (): boolean => server.redis.status !== 'ready';
  const leave = (): void => {
    notice(WORKER_TEXTS.leaving);
    worker.leave();
    // A regular end would wait for the server. Until the timeout, each agent has ended with its lock.
    if (isAway()) setTimeout(() => isAway() && process.exit(1), lockMs).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);
  notice(WORKER_TEXTS.ready(slots, account));
  await worker.run();
  return 0;
}

/** Reads RALPH_FLEET_LOCK (30s): the time after which a dead worker's loop is taken over. */
function lockTime(): number {
  const text = fleetVariables()[LOCK];
  if (text === undefined) return LOCK_MS;
  const time = parseDuration(text);
  if (time !== null && time >= 1_000) return time;
  throw new RalphError('usage', WORKER_TEXTS.lockTime(LOCK, text));
}
