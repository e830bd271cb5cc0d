import { lookAtClock, SLEPT_MS } from '../../../src/state/process/sleep-watch.ts';

/** The clock of a test that lives through hours: what asks for the time is told another one, and short waits are short. */
export interface FarClock {
  /** Milliseconds that have passed at once. */
  readonly pass: (milliseconds: number) => void;
  readonly restore: () => void;
}

/** Waits up to so long only poll; longer ones are limits, and stay what they are. */
const POLL_MS = 1_000;

const STEP_MS = SLEPT_MS / 2;

/** Until `restore` is called, Date is ahead by what was passed, and a poll takes a millisecond. */
export function farClock(): FarClock {
  const real = { Date: globalThis.Date, setTimeout: globalThis.setTimeout };
  let ahead = 0;
  class Ahead extends real.Date {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(Ahead.now());
      else super(...(given as [number]));
    }
    static override now(): number {
      return real.Date.now() + ahead;
    }
  }
  globalThis.Date = Ahead as DateConstructor;
  const soon = (run: () => void, ms = 0): NodeJS.Timeout => real.setTimeout(run, ms <= POLL_MS ? 1 : ms);
  globalThis.setTimeout = Object.assign(soon, real.setTimeout) as typeof setTimeout;
  return {
    pass: (milliseconds) => {
      // In steps that the watches of the loop see: at once, the time would be that of a machine that slept.
      for (let left = milliseconds; left > 0; left -= STEP_MS) {
        ahead += Math.min(left, STEP_MS);
        lookAtClock();
      }
    },
    restore: () => Object.assign(globalThis, real),
  };
}
