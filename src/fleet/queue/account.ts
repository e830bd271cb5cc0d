import { type FleetServer, KEYS } from './connect.ts';

/** Random time after the reset, so that not all workers start at once. */
const SPREAD_MS = 60_000;

/** Holds every worker of the account back until then (epoch milliseconds) and up to a minute more. A later hold stays. */
export async function holdAccount({ redis }: FleetServer, account: string, until: number): Promise<number> {
  const at = Math.round(until + Math.random() * Math.min(SPREAD_MS, Math.max(0, until - Date.now())));
  const name = KEYS.account(account);
  const known = Number((await redis.hget(name, 'heldUntil')) ?? 0);
  if (known >= until) return known;
  await redis
    .multi()
    .hset(name, 'heldUntil', at)
    .pexpire(name, Math.max(1, at - Date.now()) + SPREAD_MS)
    .exec();
  return at;
}

/** Returns until when (epoch milliseconds) the account is at its rate limit; 0 if it is not. */
export async function heldUntil(server: FleetServer, account: string): Promise<number> {
  const until = Number((await server.redis.hget(KEYS.account(account), 'heldUntil')) ?? 0);
  return until > (await server.now()) ? until : 0;
}
