import type { ChainableCommander } from 'ioredis';
import { type LoopProgress, type LoopResult, loopProgress, loopResult } from '../worker/loop-result.ts';
import { type FleetServer, KEYS } from './connect.ts';
import { allLoops, type LoopEntry } from './loop-index.ts';

/** What the queue says of a job. */
export type QueueState = 'queued' | 'waiting' | 'working' | 'ended' | 'failed' | 'forgotten';

/** One loop of the fleet as `fleet status` shows it. */
export interface FleetLoop extends LoopEntry {
  readonly state: QueueState;
  readonly progress: LoopProgress | null;
  readonly result: LoopResult | null;
  /** Why the machinery gave the loop up; null if it did not. */
  readonly failure: string | null;
  /** Epoch milliseconds at which a waiting loop is looked at again; null for any other. */
  readonly until: number | null;
}

/** Lists of a queue that hold its jobs by state, with what the state is called here. */
const LISTS = { wait: 'queued', paused: 'queued', active: 'working' } as const;
const SETS = { prioritized: 'queued', completed: 'ended', failed: 'failed' } as const;
const FIELDS = ['progress', 'returnvalue', 'failedReason'] as const;
export const OVER: ReadonlySet<QueueState> = new Set(['ended', 'failed', 'forgotten']);
/** BullMQ keeps the instant of a delayed job in the upper bits of its score. */
const DELAY_SHIFT = 0x1000;

/** Returns the loops, those that are over last, then the newest first, with `most` of them in full; the job's data is not read. */
export async function fleetStatus(server: FleetServer, most: number): Promise<readonly FleetLoop[]> {
  const entries = await allLoops(server);
  const states = await statesOf(server, [...new Set(entries.map(({ account }) => account))]);
  const placed = entries.map((entry) => {
    const found = states.get(`${entry.account} ${entry.loopId}.${entry.generation}`);
    return { ...entry, state: found?.state ?? ('forgotten' as const), until: found?.until ?? null };
  });
  placed.sort((a, b) => Number(OVER.has(a.state)) - Number(OVER.has(b.state)));
  const details = await detailsOf(server, placed.slice(0, most));
  return placed.map((loop, index) => ({ ...loop, ...(details[index] ?? NONE) }));
}

/** Returns one loop. Throws RalphError `no-loop`. */
export async function loopStatus(server: FleetServer, entry: LoopEntry): Promise<FleetLoop> {
  const states = await statesOf(server, [entry.account]);
  const found = states.get(`${entry.account} ${entry.loopId}.${entry.generation}`);
  const [details = NONE] = await detailsOf(server, [entry]);
  return { ...entry, state: found?.state ?? 'forgotten', until: found?.until ?? null, ...details };
}

interface Placed {
  readonly state: QueueState;
  readonly until: number | null;
}

/** A queue’s lists name its jobs by state: one exchange for any number of loops. */
async function statesOf(server: FleetServer, accounts: readonly string[]): Promise<Map<string, Placed>> {
  const commands = server.redis.pipeline();
  for (const account of accounts) {
    const queue = server.queue(account);
    for (const list of Object.keys(LISTS)) commands.lrange(queue.toKey(list), 0, -1);
    for (const set of Object.keys(SETS)) commands.zrange(queue.toKey(set), 0, -1);
    commands.zrange(queue.toKey('delayed'), 0, -1, 'WITHSCORES');
  }
  const answers = await answersOf<string[]>(commands);
  const found = new Map<string, Placed>();
  for (const account of accounts) {
    for (const state of [...Object.values(LISTS), ...Object.values(SETS)]) {
      for (const id of answers.shift() ?? []) found.set(`${account} ${id}`, { state, until: null });
    }
    const delayed = answers.shift() ?? [];
    for (let at = 0; at + 1 < delayed.length; at += 2) {
      const until = Math.floor(Number(delayed[at + 1]) / DELAY_SHIFT);
      found.set(`${account} ${delayed[at]}`, { state: 'waiting', until });
    }
  }
  return found;
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
  for (const { account, loopId, generation } of loops) {
    commands.hmget(server.queue(account).toKey(`${loopId}.${generation}`), ...FIELDS);
  }
  const answers = await answersOf<(string | null)[]>(commands);
  return answers.map(([progress, result, failure]) => ({
    progress: (progress && loopProgress.safeParse(jsonOf(progress)).data) || null,
    result: (result && loopResult.safeParse(jsonOf(result)).data) || null,
    failure: failure ?? null,
  }));
}

/** Returns how often jobs and commands came that this fleet has not signed, by job. */
export async function refusedJobs({ redis }: FleetServer): Promise<Readonly<Record<string, number>>> {
  const found = await redis.hgetall(KEYS.refused);
  return Object.fromEntries(Object.entries(found).map(([id, count]) => [id, Number(count)]));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
