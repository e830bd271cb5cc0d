/** Leaves a job to whichever worker holds it now: nothing is published. */
export class LostLoop extends Error {}

/** Puts a job back into the queue until an instant of this machine's clock, in epoch milliseconds. */
export class PutBack extends Error {
  readonly until: number;

  constructor(until: number, why: string) {
    super(why);
    this.until = until;
  }
}

const LOOK_MS = 200;

export interface LockOptions {
  /** Extends the lock at the server by its whole duration; false if it is another's, or gone. */
  readonly renew: () => Promise<boolean>;
  /** Time that the server keeps a lock which is not renewed, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Keeps the lock of one job. `lost` is aborted as soon as the server refuses a renewal, and at the latest when two thirds
 * of the lock's time have passed since the last renewal was asked for that succeeded: the rest is for ending the agent
 * before another worker can start one. A process that was frozen finds out at its first look.
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

  /** Aborts `lost` if the lock may be another's. Called before everything that others would see. */
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
      // The server does not answer: asked again until the lock's time has passed.
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

/** The steady clock stands still while the machine sleeps, the other one can be set: the larger difference counts. */
function since({ wall, steady }: Instant): number {
  return Math.max(Date.now() - wall, performance.now() - steady);
}
