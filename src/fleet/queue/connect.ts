import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as BullMQ from 'bullmq';
import type { Job, Queue } from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { RalphError } from '../../text/message.ts';
import { jobIdOf } from '../job.ts';
import { FLEET_TEXTS } from '../messages.ts';

/** Packages that the fleet needs and that its user installs separately. */
interface Packages {
  /** Loaded on first use: most commands only read from the server. */
  readonly bullmq: typeof BullMQ;
  readonly newRedis: (url: string, options: RedisOptions) => Redis;
}

const VERSIONS = 'bullmq@6 ioredis@5';

/** Loads bullmq and ioredis from our installation, else from the project. Throws `usage` with the command to install them. */
export function loadPackages(bundleDir: string, projectDir: string): Packages {
  for (const place of [bundleDir, projectDir]) {
    const require = createRequire(join(place, 'any.cjs'));
    try {
      // Both or neither: bullmq without ioredis repeats one error endlessly.
      const { Redis: Client } = require(require.resolve('ioredis')) as typeof import('ioredis');
      const path = require.resolve('bullmq');
      return {
        get bullmq() {
          return require(path) as typeof BullMQ;
        },
        newRedis: (url, options) => new Client(url, options),
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new RalphError('usage', FLEET_TEXTS.noPackages(installLine(bundleDir, projectDir)));
}

/** Returns the command that installs both in the same place as this installation. */
export function installLine(bundle: string, projectDir: string): string {
  const path = bundle.replaceAll('\\', '/');
  if (/\/_npx\//.test(path)) return `npx -p claude-ralph-loop -p bullmq@6 -p ioredis@5 ralph-loop fleet …`;
  const [, root] = /^(.*)\/node_modules\/claude-ralph-loop\//.exec(`${path}/`) ?? [];
  if (root === undefined) return `npm install --prefix ${projectDir} ${VERSIONS}`;
  // A global installation has no package.json beside its node_modules; on Unix it is in lib.
  return /\/lib$/.test(root) || /\/npm$/.test(root)
    ? `npm install --global ${VERSIONS}`
    : `npm install --prefix ${root} ${VERSIONS}`;
}

export const KEYS = {
  loops: 'ralph:loops',
  accounts: 'ralph:accounts',
  keyCheck: 'ralph:key-check',
  spent: 'ralph:budget',
  reserved: 'ralph:budget:reserved',
  refused: 'ralph:refused',
  probe: 'ralph:probe',
  account: (name: string): string => `ralph:account:${name}`,
  events: (loop: string): string => `ralph:events:${loop}`,
  commands: (loop: string): string => `ralph:commands:${loop}`,
} as const;

/** Time after which the server forgets an ended loop with its events and commands. */
export const KEPT_SECONDS = 30 * 24 * 3600;
/** Time limit for the server to accept a command's connection. */
const CONNECT_MS = 5_000;

/** Requests while the server is away: they fail with the connection, wait, or fail during a reconnect. */
export type LostServer = 'fail' | 'wait' | 'reconnect';

/** Connection to the fleet's server, and its queues, one for each account. */
export class FleetServer {
  readonly redis: Redis;
  readonly packages: Packages;
  readonly #queues = new Map<string, Queue>();

  private constructor(packages: Packages, redis: Redis) {
    this.packages = packages;
    this.redis = redis;
  }

  /** Connects once. Throws RalphError `refused` if no server answers. */
  static async connect(packages: Packages, url: string, lostServer: LostServer = 'fail'): Promise<FleetServer> {
    if (!/^rediss?:/i.test(url) || !URL.canParse(url)) throw new RalphError('usage', FLEET_TEXTS.badUrl);
    const redis = packages.newRedis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_MS,
      maxRetriesPerRequest: lostServer === 'reconnect' ? 0 : null,
      retryStrategy: (times) => (lostServer === 'fail' ? null : Math.min(50 * times, 1_000)),
    });
    let last: Error | null = null;
    redis.on('error', (error) => {
      last = error;
    });
    try {
      await redis.connect();
      // ioredis silently uses another database if the server does not have this one.
      await redis.select(redis.options.db ?? 0);
    } catch (error) {
      redis.disconnect();
      const { message } = last ?? (error as Error);
      const text = /^(?:NOAUTH|WRONGPASS|NOPERM|ERR) /.test(message) ? FLEET_TEXTS.denied : FLEET_TEXTS.unreachable;
      const withoutCredentials = url.replace(/\/\/.*@/, '//').replace(/[?#].*$/, '');
      throw new RalphError('refused', text(withoutCredentials, message), error);
    }
    return new FleetServer(packages, redis);
  }

  queue(account: string): Queue {
    const known = this.#queues.get(account);
    if (known !== undefined) return known;
    const queue = new this.packages.bullmq.Queue(queueOf(account), { connection: this.redis });
    queue.on('error', () => undefined); // handled by the connection's own listener
    this.#queues.set(account, queue);
    return queue;
  }

  /** Returns the key of a job, or of all jobs of a kind, in BullMQ's format. */
  keyOf(account: string, part: string): string {
    return `bull:${queueOf(account)}:${part}`;
  }

  async job(account: string, loopId: string, generation: number): Promise<Job | undefined> {
    return this.queue(account).getJob(jobIdOf({ loopId, generation }));
  }

  /** Returns whether a worker of the account is connected; true if the server does not say. */
  async hasWorker(account: string): Promise<boolean> {
    const count = this.queue(account).getWorkersCount();
    return (await count.catch(() => 1)) > 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    this.redis.disconnect();
  }

  /** Returns the server's clock, in epoch milliseconds. No other clock orders or delays. */
  async now(): Promise<number> {
    const [seconds = 0, micros = 0] = await this.redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }
}

export function queueOf(account: string): string {
  return `ralph-${account}`;
}
