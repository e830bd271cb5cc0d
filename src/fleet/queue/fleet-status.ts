import type { ChainableCommander } from 'ioredis';
import { jsonOrNull } from '../../text/json.ts';
import { jobIdOf } from '../job.ts';
import { type FleetServer, KEYS } from './connect.ts';
import type { LoopEntry, LoopProgress, LoopResult } from './loop-index.ts';
import { accountsOf, allLoops, compare, loopProgress, loopResult, loopsNamed } from './loop-index.ts';

type QueueState = 'queued' | 'waiting' | 'working' | 'ended' | 'failed' | 'forgotten';

/** Loop of the fleet as `fleet status` shows it. */
export interface FleetLoop extends LoopEntry {
  readonly state: QueueState;
  readonly result: LoopResult | null;
  /** Error by which the queue gave up the loop; null if there is none. */
  readonly failure: string | null;
  /** Epoch milliseconds at which a waiting loop is checked again; null for any other. */
  readonly until: number | null;
}

/** Lists of a queue by state, with our name of the state, in the order of display. */
const KEPT = [
  ['active', 'working'],
  ['delayed', 'waiting'],
  ['wait', 'queued'],
  ['paused', 'queued'],
  ['prioritized', 'queued'],
  ['failed', 'failed'],
  ['completed', 'ended'],
] as const;
const LISTS: ReadonlySet<string> = new Set(['active', 'wait', 'paused']);
const ORDER: readonly QueueState[] = [...new Set(KEPT.map(([, state]) => state)), 'forgotten'];
const FIELDS = ['progress', 'returnvalue', 'failedReason'] as const;
export const OVER: ReadonlySet<QueueState> = new Set(['ended', 'failed', 'forgotten']);
/** Factor: BullMQ stores the instant of a delayed job in the upper bits of its score. */
const DELAY_SHIFT = 0x1000;

/** Requested loops, and their total number. */
interface FleetList {
  /** Active loops first, then waiting, queued and ended ones; the newest first within each group. */
  readonly loops: readonly FleetLoop[];
  readonly total: number;
  /** Numbers of jobs by state; null if `loops` is complete. */
  readonly counts: Readonly<Partial<Record<QueueState, number>>> | null;
}

/** Reads at most `most` loops: the cost grows with these, not with all loops on the server. */
export async function fleetStatus(server: FleetServer, most: number): Promise<FleetList> {
  const total = await server.redis.hlen(KEYS.loops);
  const isWhole = total <= most;
  const accounts = await accountsOf(server);
  const { places, counts } = await placesOf(server, accounts, isWhole ? -1 : most - 1);
  const ids = [...places.keys()].map((key) => key.slice(key.indexOf(' ') + 1).replace(/\.\d+$/, ''));
  const entries = isWhole ? await allLoops(server) : await loopsNamed(server, [...new Set(ids)]);
  const placed = entries.flatMap((entry) => {
    const place = places.get(`${entry.account} ${jobIdOf(entry)}`);
    // In a partial list, a job without its loop belongs to an earlier generation.
    if (place === undefined && !isWhole) return [];
    return [{ ...entry, ...(place ?? GONE) }];
  });
  placed.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || compare(b.at, a.at));
  const shown = placed.slice(0, most);
  const details = await detailsOf(server, shown);
  const loops = shown.map((loop, index) => ({ ...loop, ...(details[index] ?? NONE) }));
  return { loops, total, counts: isWhole ? null : counts };
}

/** Returns one loop. Throws RalphError `no-loop`. */
export async function loopStatus(server: FleetServer, entry: LoopEntry): Promise<FleetLoop> {
  const { places } = await placesOf(server, [entry.account], -1);
  const place = places.get(`${entry.account} ${jobIdOf(entry)}`) ?? GONE;
  const [details = NONE] = await detailsOf(server, [entry]);
  return { ...entry, ...place, ...details };
}

interface Place {
  readonly state: QueueState;
  readonly until: number | null;
}

const GONE: Place = { state: 'forgotten', until: null };

/** Reads the places of jobs, of each kind up to position `last` (-1 for all), and their numbers, in one exchange. */
async function placesOf(server: FleetServer, accounts: readonly string[], last: number) {
  const commands = server.redis.pipeline();
  const asked = KEPT.flatMap(([kept, state]) => accounts.map((account) => ({ kept, state, account })));
  for (const { kept, account } of asked) {
    const key = server.keyOf(account, kept);
    if (LISTS.has(kept)) commands.llen(key).lrange(key, 0, last);
    else commands.zcard(key).zrange(key, 0, last, 'REV', 'WITHSCORES');
  }
  const answers = await answersOf<number | string[]>(commands);
  const places = new Map<string, Place>();
  const counts: Partial<Record<QueueState, number>> = {};
  for (const [index, { kept, state, account }] of asked.entries()) {
    const [count, ids] = answers.slice(2 * index, 2 * index + 2) as [number, string[]];
    if (count > 0) counts[state] = (counts[state] ?? 0) + count;
    for (let at = 0; at < ids.length; at += LISTS.has(kept) ? 1 : 2) {
      places.set(`${account} ${ids[at]}`, {
        state,
        until: kept === 'delayed' ? Math.floor(Number(ids[at + 1] ?? '') / DELAY_SHIFT) : null,
      });
    }
  }
  return { places, counts };
}

/** Sends the commands at once. Throws the first error among their answers. */
async function answersOf<T>(commands: ChainableCommander): Promise<T[]> {
  return ((await commands.exec()) ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer as T;
  });
}

type Details = Pick<FleetLoop, 'progress' | 'result' | 'failure'>;

const NONE: Details = { progress: null, result: null, failure: null };

async function detailsOf(server: FleetServer, loops: readonly LoopEntry[]): Promise<Details[]> {
  const commands = server.redis.pipeline();
  for (const loop of loops) commands.hmget(server.keyOf(loop.account, jobIdOf(loop)), ...FIELDS);
  const answers = await answersOf<(string | null)[]>(commands);
  return answers.map(([progress, result, failure], index) => ({
    progress: latest(
      (progress && loopProgress.safeParse(jsonOrNull(progress)).data) || null,
      loops[index]?.progress ?? null,
    ),
    result: (result && loopResult.safeParse(jsonOrNull(result)).data) || null,
    failure: failure ?? null,
  }));
}

/** Returns the progress: if no worker has held the loop in this generation, that of the last one. */
function latest(told: LoopProgress | null, before: LoopProgress | null): LoopProgress | null {
  return before === null || (told?.attempt ?? 0) > 0 ? told : { ...before, waits: told?.waits ?? null };
}

/** Returns the number of unsigned jobs and commands, by job. */
export async function refusedJobs({ redis }: FleetServer): Promise<Readonly<Record<string, number>>> {
  const found = await redis.hgetall(KEYS.refused);
  return Object.fromEntries(Object.entries(found).map(([id, count]) => [id, Number(count)]));
}
