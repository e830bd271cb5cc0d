import type { ChainableCommander } from 'ioredis';
import * as z from 'zod';
import { proof } from '../../engine/schema/proof.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';
import { jsonOrNull } from '../../text/json.ts';
import { RalphError } from '../../text/message.ts';
import { type FleetKey, jobIdOf, type Submission, WORD } from '../job.ts';
import { FLEET_TEXTS } from '../messages.ts';
import { type FleetServer, KEPT_SECONDS, KEYS } from './connect.ts';

const TEXTS = ['account', 'name', 'task', 'repository', 'by', 'at'] as const;

/** Data of a loop for `status`, without those of its job. */
interface LoopEntry extends Readonly<Record<'loopId' | (typeof TEXTS)[number], string>> {
  readonly generation: number;
  /** Progress of the loop when it was queued again; null for a new one. */
  readonly progress: LoopProgress | null;
}

/** Throws RalphError `refused` if the fleet's members use another key. */
export async function checkKey({ redis }: FleetServer, key: FleetKey): Promise<void> {
  // Written only where it is missing: a server that takes no writes can still be read.
  if ((await redis.get(KEYS.keyCheck)) === null) await redis.setnx(KEYS.keyCheck, key.fingerprint);
  if ((await redis.get(KEYS.keyCheck)) !== key.fingerprint) throw new RalphError('refused', FLEET_TEXTS.otherKey);
}

/** Adds a loop to its queue, replacing its former generation. Returns its id, or that of an equal loop that has not ended. */
export async function addLoop(
  server: FleetServer,
  key: FleetKey,
  submission: Submission,
  progress: LoopProgress | null = null,
): Promise<string> {
  const { loopId, account, generation } = submission;
  const job = await server.queue(account).add('loop', key.seal(submission), {
    jobId: jobIdOf(submission),
    attempts: 1,
    removeOnComplete: { age: KEPT_SECONDS },
    removeOnFail: { age: KEPT_SECONDS },
    deduplication: { id: sameWork(submission) },
  });
  const [, queued = '', queuedGeneration = '1'] = /^(.*)\.(\d+)$/.exec(job.id ?? '') ?? [];
  const { name, task, repository, submittedBy: by, submittedAt: at } = submission;
  const entry = JSON.stringify({
    generation: Number(queuedGeneration),
    account,
    name,
    task: task.path,
    repository: repository.url,
    by,
    at,
    ...(progress && { progress }),
  });
  if (queued !== loopId) {
    // Only a killed sender leaves a job without its entry.
    await server.redis.hsetnx(KEYS.loops, queued, entry);
    return queued;
  }
  await server.redis.multi().sadd(KEYS.accounts, account).hset(KEYS.loops, loopId, entry).exec();
  // Last: until the new job exists, the former one is the server's only record of the loop.
  if (generation > 1) await server.queue(account).remove(jobIdOf({ loopId, generation: generation - 1 }));
  return queued;
}

/** Returns the same text for submissions of the same work; the queue keeps the first of these until it has ended. */
function sameWork({ loopId, generation, repository, base, contract, task }: Submission): string {
  const own = generation > 1 ? `#${loopId}.${generation}` : '';
  return `${repository.id}#${base.sha}#${task.digest}#${contract.digest}${own}`;
}

/** Returns every loop of the fleet, newest first. */
async function allLoops({ redis }: FleetServer): Promise<LoopEntry[]> {
  const found = Object.entries(await redis.hgetall(KEYS.loops));
  return found
    .flatMap(([loopId, text]) => entryFrom(loopId, text))
    .sort((a, b) => compare(b.at, a.at) || compare(a.loopId, b.loopId));
}

/** Compares instants and ids, which are ASCII, without a locale. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Returns those of these loops that the fleet knows. */
export async function loopsNamed({ redis }: FleetServer, ids: readonly string[]): Promise<LoopEntry[]> {
  const found = ids.length === 0 ? [] : await redis.hmget(KEYS.loops, ...ids);
  return found.flatMap((text, index) => entryFrom(ids[index] ?? '', text ?? ''));
}

/** Returns the accounts for which loops were added. */
async function accountsOf({ redis }: FleetServer): Promise<string[]> {
  return (await redis.smembers(KEYS.accounts)).filter((name) => WORD.test(name));
}

/** Returns the loop of this id. Throws RalphError `no-loop`. */
export async function loopNamed(server: FleetServer, loopId: string): Promise<LoopEntry> {
  const [found] = await loopsNamed(server, [loopId]);
  if (found !== undefined) return found;
  throw new RalphError('no-loop', FLEET_TEXTS.noLoop(loopId));
}

/** Parses an entry; skips what we did not write. A schema would take half the time of a list of thousands. */
function entryFrom(loopId: string, text: string): LoopEntry[] {
  try {
    const found = { ...(JSON.parse(text) as LoopEntry), loopId };
    const hasTexts = TEXTS.every((key) => typeof found[key] === 'string') && WORD.test(found.account);
    if (!hasTexts || !Number.isInteger(found.generation) || found.generation < 1) return [];
    return [{ ...found, progress: (found.progress && loopProgress.safeParse(found.progress).data) ?? null }];
  } catch {
    return [];
  }
}

/** Removes entries whose jobs the queue has forgotten. */
export async function forgetOld(server: FleetServer, before: string): Promise<void> {
  for (const { loopId, account, generation, at } of await allLoops(server)) {
    if (at >= before || (await server.job(account, loopId, generation)) !== undefined) continue;
    await server.redis.hdel(KEYS.loops, loopId);
  }
}

/** Result of a job: the loop has ended or is paused, with whatever outcome. */
export const loopResult = z.object({
  /** Status of the engine, or a reason of the fleet such as `checkpoint-lost` or `fleet-budget`. */
  outcome: z.string().regex(LOOP_NAME),
  verified: z.boolean(),
  /** What a completion rests on; absent for every other end. */
  proof: proof.optional(),
  iterations: z.int().min(0),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  /** Last checkpoint. */
  sha: z.string().nullable(),
  /** Published branch; null if there is none. */
  branch: z.string().nullable(),
  /** Present if its own budget is used up: queued again, it would end at once. */
  usedUp: z.literal(true).optional(),
  reason: z.string(),
  report: z.string(),
});

export type LoopResult = z.infer<typeof loopResult>;

/** Returns whether a loop continues when it is resumed: a pause is not an end. */
export function isPaused(result: LoopResult | null): boolean {
  return result?.outcome === 'paused' || result?.outcome === 'fleet-budget';
}

/** Progress that the holder of a loop reports after each checkpoint. */
export const loopProgress = z.object({
  attempt: z.int().min(0),
  iteration: z.int().min(0),
  maxIterations: z.int().min(0),
  sha: z.string().nullable(),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  takeOvers: z.int().min(0),
  /** Empty in the progress from before the loop was queued again. */
  worker: z.string(),
  /** Reason why the loop waits; null while it works. */
  waits: z.string().nullable(),
  at: z.string(),
});

export type LoopProgress = z.infer<typeof loopProgress>;

type QueueState = 'queued' | 'waiting' | 'working' | 'ended' | 'failed' | 'forgotten';

/** Loop of the fleet as `fleet status` shows it. */
export interface FleetLoop extends LoopEntry {
  readonly state: QueueState;
  readonly result: LoopResult | null;
  /** Error because of which the queue gave up the loop; null if there is none. */
  readonly failure: string | null;
  /** Epoch milliseconds at which a waiting loop is checked again; null for any other. */
  readonly until: number | null;
}

/** Lists of a queue by state, with our name for the state, in the order of display. */
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

/**
 * Reads at most `most` loops: the cost grows with these, not with all loops on the server. Active ones come first, then waiting,
 * queued and ended ones; the newest first within each group. `counts` has the jobs by state; null if `loops` is complete.
 */
export async function fleetStatus(server: FleetServer, most: number) {
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

/** Reads the places of jobs, of each kind up to position `last` (-1 for all), and their numbers, in one round trip. */
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

/** Returns the progress; if no worker has held the loop in this generation, that of the previous one. */
function latest(told: LoopProgress | null, before: LoopProgress | null): LoopProgress | null {
  return before === null || (told?.attempt ?? 0) > 0 ? told : { ...before, waits: told?.waits ?? null };
}

/** Returns the number of unsigned jobs and commands, by job. */
export async function refusedJobs({ redis }: FleetServer): Promise<Readonly<Record<string, number>>> {
  const found = await redis.hgetall(KEYS.refused);
  return Object.fromEntries(Object.entries(found).map(([id, count]) => [id, Number(count)]));
}
