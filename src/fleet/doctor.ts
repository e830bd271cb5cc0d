import { FLEET_TEXTS } from './messages.ts';
import { type FleetServer, KEYS } from './queue/connect.ts';
import type { FleetKey } from './signing.ts';

export interface FleetFinding {
  readonly level: 'ok' | 'warning' | 'error';
  readonly name: string;
  readonly message: string;
}

/** Looks at what the fleet needs of its server: what it holds survives a restart, and it never drops a job. */
export async function serverFindings({ redis }: FleetServer, key: FleetKey | null): Promise<FleetFinding[]> {
  const info = await redis.info();
  const value = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  const isKept = value('aof_enabled') === '1';
  const policy = value('maxmemory_policy');
  const known = await redis.get(KEYS.keyCheck);
  const isSame = key === null || known === null || known === key.fingerprint;
  return [
    { level: 'ok', name: 'server', message: `Redis ${value('redis_version')}` },
    isKept
      ? { level: 'ok', name: 'append-only file', message: 'on' }
      : { level: 'error', name: 'append-only file', message: FLEET_TEXTS.noAppendOnly },
    policy === 'noeviction'
      ? { level: 'ok', name: 'maxmemory-policy', message: policy }
      : { level: 'error', name: 'maxmemory-policy', message: FLEET_TEXTS.evicts(policy) },
    ...(isSame ? [] : [{ level: 'error', name: 'key of the fleet', message: FLEET_TEXTS.otherKey } as const]),
  ];
}
