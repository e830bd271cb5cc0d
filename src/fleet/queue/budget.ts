import { type FleetServer, KEYS } from './connect.ts';

/** Limits for all loops of the fleet together; null is no limit. */
export interface FleetLimits {
  readonly maxCostUsd: number | null;
  readonly maxTokens: number | null;
}

interface Amount {
  readonly costUsd: number;
  readonly tokens: number;
}

/** Factor: dollars are counted in millionths, because Redis adds integers. */
const MICRO = 1_000_000;

/**
 * Counts reservations that were not settled in time as spent, then reserves if the limits allow it. A single script, so that
 * two workers never reserve the same dollar. Uses the server's clock.
 */
const RESERVE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local cost, tokens = 0, 0
local held = redis.call('HGETALL', KEYS[2])
for i = 1, #held, 2 do
  local c, k, untilAt = string.match(held[i + 1], '^(%d+) (%d+) (%d+)$')
  if tonumber(untilAt) <= now then
    redis.call('HINCRBY', KEYS[1], 'cost', c)
    redis.call('HINCRBY', KEYS[1], 'tokens', k)
    redis.call('HDEL', KEYS[2], held[i])
    redis.call('HSET', KEYS[1], 'late ' .. held[i], c .. ' ' .. k)
  elseif held[i] ~= ARGV[1] then
    cost = cost + c
    tokens = tokens + k
  end
end
cost = cost + (redis.call('HGET', KEYS[1], 'cost') or 0)
tokens = tokens + (redis.call('HGET', KEYS[1], 'tokens') or 0)
local c, k, life, maxCost, maxTokens = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if (maxCost >= 0 and cost + c > maxCost) or (maxTokens >= 0 and tokens + k > maxTokens) then return {0, cost, tokens} end
redis.call('HSET', KEYS[2], ARGV[1], string.format('%d %d %d', c, k, now + life))
return {1, cost, tokens}
`;

/** Settles a reservation once. One that already counts as spent, because its iteration took long, is corrected. */
const SETTLE = `
local late = redis.call('HGET', KEYS[1], 'late ' .. ARGV[1])
local c, k = string.match(late or '0 0', '^(%d+) (%d+)$')
if redis.call('HDEL', KEYS[2], ARGV[1]) + redis.call('HDEL', KEYS[1], 'late ' .. ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'cost', ARGV[2] - c)
redis.call('HINCRBY', KEYS[1], 'tokens', ARGV[3] - k)
return 1
`;

/** Reserves for one iteration. Returns null, or the amounts spent and reserved if the limits leave too little. */
export async function reserve(
  { redis }: FleetServer,
  id: string,
  amount: Amount,
  lifeMs: number,
  { maxCostUsd, maxTokens }: FleetLimits,
): Promise<Amount | null> {
  const limits = [maxCostUsd === null ? -1 : micro(maxCostUsd), maxTokens ?? -1];
  const words = [id, micro(amount.costUsd), Math.ceil(amount.tokens), Math.ceil(lifeMs), ...limits];
  const [granted, cost, tokens] = (await redis.eval(RESERVE, 2, KEYS.spent, KEYS.reserved, ...words)) as number[];
  return granted === 1 ? null : { costUsd: (cost ?? 0) / MICRO, tokens: tokens ?? 0 };
}

/** Replaces a reservation by the actual usage; no effect if it was never made or is already settled. */
export async function settle({ redis }: FleetServer, id: string, used: Amount): Promise<void> {
  await redis.eval(SETTLE, 2, KEYS.spent, KEYS.reserved, id, micro(used.costUsd), Math.ceil(used.tokens));
}

/** Reads at one instant. A script, because a full server refuses transactions. */
const READ = `
local spent = redis.call('HMGET', KEYS[1], 'cost', 'tokens')
local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), spent[1] or '0', spent[2] or '0', unpack(redis.call('HVALS', KEYS[2]))}
`;

/** Returns what is spent and reserved, as the next reservation counts it. Only reads. */
export async function fleetSpent({ redis }: FleetServer) {
  const answer = (await redis.eval(READ, 2, KEYS.spent, KEYS.reserved)) as (string | number)[];
  const [now = 0, cost, tokens, ...held] = answer;
  const spent = { cost: Number(cost), tokens: Number(tokens) };
  const reserved = { cost: 0, tokens: 0 };
  for (const reservation of held) {
    const [micros = 0, count = 0, untilAt = 0] = String(reservation).split(' ').map(Number);
    const sum = untilAt <= Number(now) ? spent : reserved;
    sum.cost += micros;
    sum.tokens += count;
  }
  const inDollars = (sum: typeof spent): Amount => ({ costUsd: sum.cost / MICRO, tokens: sum.tokens });
  return { ...inDollars(spent), reserved: inDollars(reserved) };
}

function micro(dollars: number): number {
  return Math.ceil(dollars * MICRO);
}

/** Maximum random delay after the reset, so that not all workers start at once. */
const SPREAD_MS = 60_000;

/** Holds every worker of the account until then (epoch milliseconds) and up to a minute longer. A later hold stays. */
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

/** Returns the end of the account's rate limit (epoch milliseconds); 0 if there is none. */
export async function heldUntil(server: FleetServer, account: string): Promise<number> {
  const until = Number((await server.redis.hget(KEYS.account(account), 'heldUntil')) ?? 0);
  return until > (await server.now()) ? until : 0;
}

/** Minimum expected usage of an iteration. */
const FLOOR: Amount = { costUsd: 0.25, tokens: 20_000 };
const GROWTH = 1.5;
/** Default timeout of an iteration. */
const LONG_MS = 6 * 3600_000;

/** Reserves the possible cost of a loop's next iteration, and settles it by the actual usage. */
export class Reservations {
  readonly #server: FleetServer;
  readonly #limits: FleetLimits;
  readonly #claim: string;
  readonly #lifeMs: number;
  #open: { readonly id: string; readonly amount: Amount } | null = null;
  #count = 0;
  #last: Amount;
  #used: Amount = { costUsd: 0, tokens: 0 };
  #isCostKnown = true;

  /** Creates the reservations of a claim; `claim` names the loop and this claim of it, `average` is what its iterations cost. */
  constructor(server: FleetServer, limits: FleetLimits, claim: string, iterationTimeoutMs: number, average: Amount) {
    this.#server = server;
    this.#limits = limits;
    this.#claim = claim;
    this.#last = average;
    // A holder that has not settled within twice an iteration's time is dead.
    this.#lifeMs = 2 * (iterationTimeoutMs || LONG_MS);
  }

  /** Counts the usage of an agent run; a cost of null is unknown. */
  use(costUsd: number | null, tokens: number): void {
    if (costUsd === null) this.#isCostKnown = false;
    this.#used = { costUsd: this.#used.costUsd + (costUsd ?? 0), tokens: this.#used.tokens + tokens };
  }

  /** Settles the last reservation and makes the next one. Returns null, or the exhausted amount if too little is left. */
  async next(): Promise<Amount | null> {
    await this.settle();
    const amount = {
      costUsd: Math.max(this.#last.costUsd * GROWTH, FLOOR.costUsd),
      tokens: Math.max(this.#last.tokens * GROWTH, FLOOR.tokens),
    };
    this.#count += 1;
    const id = `${this.#claim}:${this.#count}`;
    const refused = await reserve(this.#server, id, amount, this.#lifeMs, this.#limits);
    if (refused === null) this.#open = { id, amount };
    return refused;
  }

  /** Settles the last reservation. An unknown cost counts as the reserved one if the fleet has a limit on cost. */
  async settle(): Promise<void> {
    if (this.#open === null) return;
    const { id, amount } = this.#open;
    const isGuessed = !this.#isCostKnown && this.#limits.maxCostUsd !== null;
    const used = isGuessed ? { ...this.#used, costUsd: Math.max(this.#used.costUsd, amount.costUsd) } : this.#used;
    await settle(this.#server, id, used);
    this.#open = null;
    this.#last = this.#used;
    this.#used = { costUsd: 0, tokens: 0 };
    this.#isCostKnown = true;
  }
}
