import type { Job, Worker } from 'bullmq';
import { RalphError } from '../../text/message.ts';
import { envelopeOf, jobIdOf, type Submission } from '../job.ts';
import { WORKER_TEXTS } from '../messages.ts';
import { heldUntil } from '../queue/budget.ts';
import { type FleetServer, KEYS, queueOf } from '../queue/connect.ts';
import type { LoopProgress, LoopResult } from '../queue/loop-index.ts';
import { isPaused, loopProgress, loopResult, loopsNamed } from '../queue/loop-index.ts';
import { EventSink } from '../queue/loop-streams.ts';
import { loopEnvironment } from '../submission-terms.ts';
import { withoutWork, workOn } from './claim.ts';
import { type Claim, LockKeeper, LostLoop, PutBack, thisWorker } from './holding.ts';

interface WorkerOptions extends Pick<Claim, 'server' | 'key' | 'place' | 'program' | 'limits'> {
  /** Environment of this process, without the variables of the fleet. */
  readonly env: NodeJS.ProcessEnv;
  readonly slots: number;
  readonly account: string;
  readonly labels: readonly string[];
  /** Ids of the repositories that this worker serves; empty for all. */
  readonly repositories: readonly string[];
  /** Lifetime of a lock without renewal on the server, in milliseconds. */
  readonly lockMs: number;
  readonly notice: (text: string) => void;
}

/** Delay before a job is offered again to find a worker with the required labels. */
const OTHER_WORKER_MS = 5_000;
const AFTER_ERROR_MS = 15_000;
/** Effectively no limit: the checkpoint limits take-overs. */
const STALLED_COUNT = 1_000_000;

/** Takes loops of one account from the queue and works on them. */
export class FleetWorker {
  readonly #options: WorkerOptions;
  readonly #worker: Worker;
  readonly #leaving = new AbortController();
  readonly #hurry = new AbortController();
  readonly #logged = new Map<string, string>();
  #lastError = '';

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { server, slots, account, lockMs, notice } = options;
    const { bullmq } = server.packages;
    this.#worker = new bullmq.Worker<unknown, LoopResult>(
      queueOf(account),
      // Without a third parameter, only the lock aborts a job.
      (job: Job, token?: string) => this.#process(job, token ?? ''),
      {
        connection: server.redis,
        concurrency: slots,
        lockDuration: lockMs,
        // The last successful renewal must be known, so that an agent ends before its lock does.
        skipLockRenewal: true,
        stalledInterval: Math.floor(lockMs / 3), // Redis rejects fractions
        maxStalledCount: STALLED_COUNT,
        drainDelay: 5,
        autorun: false,
      },
    );
    this.#worker.on('error', ({ message }) => {
      if (message !== this.#lastError && !/^(?:Missing lock|Lock mismatch) for job /.test(message)) notice(message);
      this.#lastError = message;
    });
  }

  /** Works until `leave` was called and every loop is signed off. */
  async run(): Promise<void> {
    await this.#worker.run();
    await this.#worker.close();
  }

  /** First call: loops stop after their iterations. Second call: their iterations are ended. All return to the queue. */
  leave(): void {
    if (this.#leaving.signal.aborted) {
      this.#hurry.abort();
      return;
    }
    this.#leaving.abort();
    void this.#worker.close();
  }

  async #process(job: Job, token: string): Promise<LoopResult> {
    const { lockMs } = this.#options;
    const { DelayedError } = this.#options.server.packages.bullmq;
    const renew = async (): Promise<boolean> => (await job.extendLock(token, lockMs)) === 1;
    const keeper = new LockKeeper({ durationMs: lockMs, renew });
    try {
      return await this.#claim(job, keeper.lost);
    } catch (error) {
      const setback = setbackOf(error, keeper.lost.aborted);
      if (setback === null) throw error;
      const { until, said, waits } = setback;
      if (said !== null) this.#options.notice(`${job.id}: ${said}`);
      if (waits !== null) await this.#show(job, waits);
      if (said !== null && waits !== null) await this.#log(job, said);
      // Refused if another worker has the lock, and therefore the job.
      await job.moveToDelayed(until, token).catch(() => undefined);
      throw new DelayedError();
    } finally {
      keeper.stop();
    }
  }

  async #claim(job: Job, lost: AbortSignal): Promise<LoopResult> {
    const { server, key, place, env, program, limits, account, notice } = this.#options;
    const envelope = envelopeOf(job.data);
    if (envelope === null || !key.hasSealed(envelope) || jobIdOf(envelope.submission) !== job.id)
      return this.#refuse(job);
    const { submission } = envelope;
    if (submission.account !== account) return this.#refuse(job);
    const held = await heldUntil(server, account);
    if (held > 0) await this.#wait(job, held, 'rate-limit');
    const lacks = this.#lacks(submission);
    if (lacks !== null) await this.#wait(job, Date.now() + OTHER_WORKER_MS, lacks);
    const blocked = await dependencyOf(server, submission);
    if (blocked === 'waits') await this.#wait(job, Date.now() + OTHER_WORKER_MS, 'after');
    else if (blocked !== null) return withoutWork('blocked', blocked);
    const known = loopProgress.safeParse(job.progress);
    const told = known.success ? known.data : null;
    const progress = async (now: LoopProgress): Promise<void> => {
      if (!lost.aborted) await job.updateProgress(now);
    };
    const own = loopEnvironment(place, env);
    notice(`${submission.loopId}: ${WORKER_TEXTS.begins(submission.task.path)}`);
    const result = await workOn({
      submission,
      server,
      key,
      program,
      limits,
      told,
      lost,
      progress,
      env: own,
      place: { ...place, env: own },
      leaving: this.#leaving.signal,
      hurry: this.#hurry.signal,
    });
    notice(`${submission.loopId}: ${result.outcome}: ${result.reason}`);
    return result;
  }

  async #refuse(job: Job): Promise<LoopResult> {
    const { server, notice } = this.#options;
    const { UnrecoverableError } = server.packages.bullmq;
    notice(`${job.id}: ${WORKER_TEXTS.refusedJob}`);
    await server.redis.hincrby(KEYS.refused, String(job.id), 1);
    throw new UnrecoverableError(WORKER_TEXTS.refusedJob);
  }

  async #wait(job: Job, until: number, waits: string): Promise<never> {
    await this.#show(job, waits);
    throw new PutBack(until, waits);
  }

  async #show(job: Job, waits: string): Promise<void> {
    const known = loopProgress.safeParse(job.progress);
    if (!known.success || known.data.waits !== waits) {
      const none = { attempt: 0, iteration: 0, maxIterations: 0, sha: null, costUsd: null, tokens: 0, takeOvers: 0 };
      const now = { worker: thisWorker(), at: new Date().toISOString(), waits };
      await job.updateProgress({ ...(known.success ? known.data : none), ...now });
    }
  }

  /** Adds a reason to the log of its loop, unless it is this worker's last one for the loop: it is met again and again. */
  async #log(job: Job, message: string): Promise<void> {
    const { server, env } = this.#options;
    const [loopId = '', { data }] = [job.id?.replace(/\.\d+$/, ''), loopProgress.safeParse(job.progress)];
    if (this.#logged.get(loopId) === message) return;
    this.#logged.set(loopId, message);
    const events = new EventSink(server, loopId, data?.attempt ?? 0, env);
    events.tell({ type: 'notice', message });
    await events.flush().catch(() => undefined);
  }

  /** Returns the options of a worker that this one lacks for a loop; null if it may work on it. */
  #lacks({ needs, repository }: Submission): string | null {
    const { labels, repositories } = this.#options;
    const missing = needs.labels.filter((label) => !labels.includes(label));
    if (missing.length > 0) return `worker --labels ${missing.join(',')}`;
    return repositories.length === 0 || repositories.includes(repository.id) ? null : `worker --repo ${repository.url}`;
  }
}

/**
 * Returns what an error means for the job: until when it returns to the queue, what the worker prints, and why the loop is shown
 * as waiting; null for an error of the program, which fails the job.
 */
function setbackOf(error: unknown, isLost: boolean) {
  const now = Date.now();
  if (error instanceof PutBack) return { until: Math.max(error.until, now), said: null, waits: null };
  if (error instanceof LostLoop) return { until: now + OTHER_WORKER_MS, said: error.message, waits: null };
  const { code, message, name } = error as NodeJS.ErrnoException;
  const isRefused = error instanceof RalphError;
  const failed = isRefused ? (error.code === 'state-io' ? 'repository' : 'error') : null;
  const waits = /ENOSPC|No space left on device|Out of diskspace/i.test(message) ? 'disk-full' : failed;
  if (isLost) return { until: now + OTHER_WORKER_MS, said: WORKER_TEXTS.lockLost, waits };
  // A server that is loading its file or has no space left refuses commands; this is not the loop's fault.
  const isOfMachine = isRefused || code !== undefined || name === 'ReplyError';
  return isOfMachine ? { until: now + AFTER_ERROR_MS, said: message, waits } : null;
}

/** Returns why the loop cannot start: null if every earlier loop is complete, `waits` while one has not ended. */
async function dependencyOf(server: FleetServer, { after }: Submission): Promise<string | null> {
  let waits = false;
  for (const id of after) {
    const outcome = await outcomeOf(server, id);
    if (outcome === null) waits = true;
    else if (outcome !== 'complete') return WORKER_TEXTS.dependency(id, outcome);
  }
  return waits ? 'waits' : null;
}

/** Returns the outcome of a loop; null while it continues, or can: a pause is not an end. */
async function outcomeOf(server: FleetServer, id: string): Promise<string | null> {
  const [known] = await loopsNamed(server, [id]);
  const job = known && (await server.job(known.account, id, known.generation));
  if (job === undefined) return 'forgotten';
  const state = await job.getState();
  if (state === 'failed') return 'failed';
  if (state !== 'completed') return null;
  const result = loopResult.safeParse(job.returnvalue);
  if (!result.success) return 'unknown';
  return isPaused(result.data) ? null : result.data.outcome;
}
