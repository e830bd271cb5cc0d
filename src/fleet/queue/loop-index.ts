import * as z from 'zod';
import { proof } from '../../engine/schema/proof.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { type FleetKey, jobIdOf, type Submission, WORD } from '../job.ts';
import { FLEET_TEXTS } from '../messages.ts';
import { type FleetServer, KEPT_SECONDS, KEYS } from './connect.ts';

const TEXTS = ['account', 'name', 'task', 'repository', 'by', 'at'] as const;

/** Data of a loop for `status`, without that of its job. */
export interface LoopEntry extends Readonly<Record<'loopId' | (typeof TEXTS)[number], string>> {
  readonly generation: number;
  /** Progress of the loop when it was queued again; null for a new one. */
  readonly progress: LoopProgress | null;
}

/** Throws RalphError `refused` if the fleet's members use another key. */
export async function checkKey({ redis }: FleetServer, key: FleetKey): Promise<void> {
  await redis.setnx(KEYS.keyCheck, key.fingerprint);
  if ((await redis.get(KEYS.keyCheck)) !== key.fingerprint) throw new RalphError('refused', FLEET_TEXTS.otherKey);
}

/** Adds a loop to its queue in place of its former generation. Returns its id, or that of an equal one that has not ended. */
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

/** Returns the same text for submissions of the same work, of which the queue keeps the first until it has ended. */
function sameWork({ loopId, generation, repository, base, contract, task }: Submission): string {
  const own = generation > 1 ? `#${loopId}.${generation}` : '';
  return `${repository.id}#${base.sha}#${task.digest}#${contract.digest}${own}`;
}

/** Returns every loop of the fleet, newest first. */
export async function allLoops({ redis }: FleetServer): Promise<LoopEntry[]> {
  const found = Object.entries(await redis.hgetall(KEYS.loops));
  return found
    .flatMap(([loopId, text]) => entryFrom(loopId, text))
    .sort((a, b) => compare(b.at, a.at) || compare(a.loopId, b.loopId));
}

/** Compares instants and ids, which are ASCII, without a locale. */
export function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Returns those of these loops that the fleet knows. */
export async function loopsNamed({ redis }: FleetServer, ids: readonly string[]): Promise<LoopEntry[]> {
  const found = ids.length === 0 ? [] : await redis.hmget(KEYS.loops, ...ids);
  return found.flatMap((text, index) => entryFrom(ids[index] ?? '', text ?? ''));
}

/** Returns the accounts that loops were added for. */
export async function accountsOf({ redis }: FleetServer): Promise<string[]> {
  return (await redis.smembers(KEYS.accounts)).filter((name) => WORD.test(name));
}

/** Returns the loop of this id. Throws RalphError `no-loop`. */
export async function loopNamed(server: FleetServer, loopId: string): Promise<LoopEntry> {
  const [found] = await loopsNamed(server, [loopId]);
  if (found !== undefined) return found;
  throw new RalphError('no-loop', FLEET_TEXTS.noLoop(loopId));
}

/** Parses an entry; anything else was not written by us. A schema would take half the time of a list of thousands. */
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
  reason: z.string(),
  report: z.string(),
});

export type LoopResult = z.infer<typeof loopResult>;

/** Returns whether a loop goes on when it is resumed: a pause is not an end. */
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
  /** Empty in the progress from before a loop was queued again. */
  worker: z.string(),
  /** Reason why the loop waits; null while it works. */
  waits: z.string().nullable(),
  at: z.string(),
});

export type LoopProgress = z.infer<typeof loopProgress>;
