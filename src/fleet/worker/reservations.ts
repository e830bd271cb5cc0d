import { type Amount, type FleetLimits, reserve, settle } from '../queue/budget.ts';
import type { FleetServer } from '../queue/connect.ts';

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
  #last: Amount = { costUsd: 0, tokens: 0 };
  #used: Amount = { costUsd: 0, tokens: 0 };
  #isCostKnown = true;

  /** Creates the reservations of a claim; `claim` names the loop and this claim of it. */
  constructor(server: FleetServer, limits: FleetLimits, claim: string, iterationTimeoutMs: number) {
    this.#server = server;
    this.#limits = limits;
    this.#claim = claim;
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

  /** Settles the last reservation. An unknown cost counts as the reserved one, if the fleet has a limit that it could exceed. */
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
