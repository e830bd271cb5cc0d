import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import { envelopeOf, FleetKey } from '../../src/fleet/job.ts';
import { FleetServer, queueOf } from '../../src/fleet/queue/connect.ts';
import { addLoop, fleetStatus } from '../../src/fleet/queue/loop-index.ts';
import { redisServer } from '../support/fleet/redis-server.ts';
import { aSubmission } from '../support/fleet/submission.ts';

/**
 * What the queue costs for a number of loops whose agents are simulated: `fleet add`, memory of the server, `fleet status`
 * of all, and claim to end of a loop. Times are of this machine. Sizes: `npm run bench:fleet -- 100 1000 10000`.
 */
const sizes = process.argv.slice(2).map(Number).filter(Number.isInteger);
const key = new FleetKey('k'.repeat(64));
const SLOTS = 2;
/** Terms of a task with a dozen checks. */
const TERMS = Array.from({ length: 40 }, (_, at): [string, string] => [
  `validation ${at}`,
  `npm run check-${at} (300 s)`,
]);

for (const size of sizes.length > 0 ? sizes : [100, 1_000]) await measure(size);

async function measure(size: number): Promise<void> {
  const ends: (() => unknown)[] = [];
  const context = { after: (end: () => unknown) => ends.push(end) };
  const redis = await redisServer(context as unknown as Parameters<typeof redisServer>[0]);
  const packages = { bullmq, newRedis: (url: string, options: object) => new Redis(url, options) };
  const server = await FleetServer.connect(packages, redis.url, 'wait');
  try {
    const empty = await memory(server);
    const addMs = await timed(async () => {
      for (let at = 0; at < size; at++) {
        const submission = aSubmission(`a-${String(at).padStart(10, '0')}`);
        const contract = { ...submission.contract, terms: TERMS };
        const base = { ref: 'main', sha: at.toString(16).padStart(40, '0') };
        await addLoop(server, key, { ...submission, contract, base });
      }
    });
    const bytes = (await memory(server)) - empty;
    const status = await costOf(() => fleetStatus(server, 50));
    const all = await costOf(() => fleetStatus(server, Number.POSITIVE_INFINITY));
    const runMs = await timed(() => work(server, size));
    const ended = await costOf(() => fleetStatus(server, 50));
    const each = (value: number): string => `${(value / size).toFixed(2)} ms a loop`;
    console.log(
      [
        `${size} loops`,
        `add ${each(addMs)}`,
        `${(bytes / size / 1024).toFixed(1)} KiB a loop`,
        `status of 50 ${status}, of 50 that have ended ${ended}, of all ${all}`,
        `claim to end ${each(runMs)} with ${SLOTS} slots`,
      ].join(', '),
    );
  } finally {
    await server.close();
    for (const end of ends.reverse()) await end();
  }
}

/** Claims every loop, checks its signature, tells one progress and ends it. */
async function work({ redis }: FleetServer, size: number): Promise<void> {
  const worker = new bullmq.Worker(
    queueOf('default'),
    async (job: bullmq.Job) => {
      const envelope = envelopeOf(job.data);
      if (envelope === null || !key.hasSealed(envelope)) throw new Error('not ours');
      await job.updateProgress({ iteration: 1 });
      return { outcome: 'complete' };
    },
    { connection: redis, concurrency: SLOTS, skipLockRenewal: true },
  );
  let ended = 0;
  await new Promise<void>((resolve, reject) => {
    worker.on('failed', (_, error) => reject(error));
    worker.on('completed', () => {
      ended += 1;
      if (ended === size) resolve();
    });
  });
  await worker.close();
}

async function memory({ redis }: FleetServer): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

/** Returns the time that the work takes, and that of the processor in this process. */
async function costOf(work: () => Promise<unknown>): Promise<string> {
  const before = process.cpuUsage();
  const ms = await timed(work);
  const { user, system } = process.cpuUsage(before);
  return `${ms.toFixed(0)} ms (processor ${((user + system) / 1000).toFixed(0)} ms)`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
