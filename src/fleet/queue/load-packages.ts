import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as BullMQ from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { RalphError } from '../../text/message.ts';
import { FLEET_TEXTS } from '../messages.ts';

/** The two packages that the fleet needs and that its user installs beside ours. */
export interface Packages {
  readonly bullmq: typeof BullMQ;
  readonly newRedis: (url: string, options: RedisOptions) => Redis;
}

export const VERSIONS = 'bullmq@6 ioredis@5';

/** Loads bullmq and ioredis from where ours is installed, else from the user's project. Throws `usage` with the line that installs them. */
export function loadPackages(bundleDir: string, projectDir: string): Packages {
  for (const place of [bundleDir, projectDir]) {
    const require = createRequire(join(place, 'any.cjs'));
    try {
      // Both or none: bullmq without ioredis repeats one error without end.
      const { Redis: Client } = require(require.resolve('ioredis')) as typeof import('ioredis');
      const bullmq = require(require.resolve('bullmq')) as typeof BullMQ;
      return { bullmq, newRedis: (url, options) => new Client(url, options) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new RalphError('usage', FLEET_TEXTS.noPackages(installLine(bundleDir, projectDir)));
}

/** Returns the command that installs both beside this installation. */
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
