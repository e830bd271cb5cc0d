/** Leaves a job to its current holder; nothing is published. */
export class LostLoop extends Error {}

/** Returns a job to the queue until an instant of this machine's clock, in epoch milliseconds. */
export class PutBack extends Error {
  readonly until: number;

  constructor(until: number, why: string) {
    super(why);
    this.until = until;
  }
}

const LOOK_MS = 200;

interface LockOptions {
  /** Extends the lock on the server by its whole duration; false if another worker has it, or it expired. */
  readonly renew: () => Promise<boolean>;
  /** Lifetime of a lock without renewal on the server, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Keeps the lock of one job. Aborts `lost` as soon as the server refuses a renewal, and at the latest when two thirds of the
 * lock's time have passed since the request of the last successful renewal: the rest is for ending the agent before another
 * worker can start one. A process that was frozen notices at its first check.
 */
export class LockKeeper {
  readonly #options: LockOptions;
  readonly #lost = new AbortController();
  readonly #look: NodeJS.Timeout;
  #renewal: NodeJS.Timeout | null = null;
  #stopped = false;
  #last: Instant;

  constructor(options: LockOptions) {
    this.#options = options;
    this.#last = instant();
    this.#look = setInterval(() => this.check(), LOOK_MS);
    this.#schedule();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborts `lost` if another worker may have the lock. Called before every visible effect. */
  check(): void {
    if (this.#stopped || this.lost.aborted) return;
    if (since(this.#last) > (this.#options.durationMs * 2) / 3) this.#lost.abort();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#look);
    if (this.#renewal !== null) clearTimeout(this.#renewal);
  }

  #schedule(): void {
    if (this.#stopped || this.lost.aborted) return;
    this.#renewal = setTimeout(() => void this.#renew(), this.#options.durationMs / 4);
  }

  async #renew(): Promise<void> {
    const asked = instant();
    try {
      if (await this.#options.renew()) this.#last = asked;
      else if (!this.#stopped) this.#lost.abort();
    } catch {
      // The server does not answer: retried until the lock's time has passed.
    }
    this.#schedule();
  }
}

interface Instant {
  readonly wall: number;
  readonly steady: number;
}

function instant(): Instant {
  return { wall: Date.now(), steady: performance.now() };
}

/** Returns the larger difference: the steady clock stops while the machine sleeps, and the wall clock can be set. */
function since({ wall, steady }: Instant): number {
  return Math.max(Date.now() - wall, performance.now() - steady);
}
