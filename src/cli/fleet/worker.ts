import { availableParallelism } from 'node:os';
import { withPrefix } from '../../drive/turn/messages.ts';
import { loopEnvironment } from '../../fleet/contract-terms.ts';
import { plainUrl } from '../../fleet/git/place.ts';
import { closeWorkspace, staleWorkspaces } from '../../fleet/git/workspace.ts';
import { repositoryId } from '../../fleet/job.ts';
import { WORKER_TEXTS } from '../../fleet/messages.ts';
import { forgetOld } from '../../fleet/queue/loop-index.ts';
import { FleetWorker } from '../../fleet/worker/worker.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { parseDuration } from '../../text/duration.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { valuesOf } from '../command.ts';
import { accountOf, type FleetContext, numberOf, placeOfFleet, wholeOf, wordsOfOption } from './fleet-options.ts';

const LOCK = 'RALPH_FLEET_LOCK';
const LOCK_MS = 30_000;
const DAY_MS = 24 * 3_600_000;
/** Cores for one loop: an agent and its checks. */
const CORES = 3;

/** Works on loops of the fleet until a signal ends it: after their iterations, at the second signal at once. */
export async function runWorker(context: FleetContext): Promise<number> {
  const { server, key, env, err } = context;
  const place = placeOfFleet(context);
  const account = accountOf(context);
  const slots = wholeOf(context, 'slots', Math.max(1, Math.floor(availableParallelism() / CORES)), 64);
  const repositories = valuesOf(context, 'repo').map((url) => repositoryId(plainUrl(url)));
  const notice = (text: string): void => {
    if (context.forPeople) err(withPrefix(text));
    else context.out(JSON.stringify({ type: 'notice', at: context.now(), message: text }));
  };
  // Work trees that killed workers left: what counts of them is published.
  for (const stale of staleWorkspaces({ ...place, env: loopEnvironment(place, env) })) closeWorkspace(stale);
  const forget = (): Promise<void> => forgetOld(server, new Date(Date.now() - 30 * DAY_MS).toISOString());
  await forget();
  setInterval(() => void forget().catch((error: Error) => notice(error.message)), DAY_MS).unref();
  const worker = new FleetWorker({
    ...{ server, key, place, env, slots, account, repositories, notice },
    program: [...process.execArgv, process.argv[1] ?? ''],
    labels: wordsOfOption(context, 'labels'),
    limits: { maxCostUsd: numberOf(context, 'max-cost'), maxTokens: numberOf(context, 'max-tokens') },
    lockMs: lockTime(),
  });
  const leave = (): void => {
    notice(WORKER_TEXTS.leaving);
    worker.leave();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);
  notice(WORKER_TEXTS.ready(slots, account));
  await worker.run();
  return 0;
}

/** Reads RALPH_FLEET_LOCK (30s): the time after which the loop of a worker that has died is taken over. */
function lockTime(): number {
  const text = fleetVariables()[LOCK];
  if (text === undefined) return LOCK_MS;
  const time = parseDuration(text);
  if (time !== null && time >= 1_000) return time;
  throw new RalphError('usage', WORKER_TEXTS.lockTime(LOCK, text));
}
