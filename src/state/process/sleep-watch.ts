import { withoutSleep } from '../../engine/policy/loop-time.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { instantOf } from '../../text/time.ts';
import { uptimeMs } from './identity.ts';

/** Delay of a look from which the machine must have slept, or the process must have been stopped, unless it was busy. */
export const SLEPT_MS = 5_000;
const LOOK_MS = 330;

const watches = new Set<() => void>();

/**
 * Calls `onSleep` with the instant since when this process has not run, whenever its machine has slept or it was stopped: soon,
 * and within `lookAtClock`; a later instant than now where the clock was set back. Returns a function that ends the watch.
 */
export function watchSleep(onSleep: (since: string) => void): () => void {
  const usedMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  let looked = Date.now();
  let used = usedMs();
  const look = (): void => {
    const due = looked + LOOK_MS;
    const before = used;
    looked = Date.now();
    used = usedMs();
    const late = looked - due;
    // A process that computes for long is no sleep: agents must not get more time for a text that is slow to read.
    if (late < -SLEPT_MS || (late > SLEPT_MS && used - before < late / 2)) onSleep(instantOf(due));
  };
  const timer = setInterval(look, LOOK_MS).unref();
  watches.add(look);
  return () => {
    clearInterval(timer);
    watches.delete(look);
  };
}

/** Lets the watches of this process note a sleep first: called before anything is judged by the time. */
export function lookAtClock(): void {
  for (const look of watches) look();
}

/** Time between the reads of both clocks beyond which they are read again: the machine was busy in between. */
const CLOSE_MS = 330;
const READS = 5;

/**
 * Returns the milliseconds for which this machine has slept since its start, up to a constant: one of its clocks goes on
 * meanwhile, the other one does not. Null on systems without /proc, whose clocks do not tell.
 */
export function asleepMs(): number | null {
  const awakeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
  for (let read = 0; read < READS; read++) {
    const before = awakeMs();
    const upMs = uptimeMs();
    const later = awakeMs();
    // Some containers have an empty file.
    if (!Number.isFinite(upMs)) return null;
    if (later - before < CLOSE_MS) return Math.round(upMs) - later;
  }
  return null;
}

/** Returns a state with a sleep of the machine since its last change left out of the loop's time. */
export function awake<S extends LoopState>(state: S): S {
  const asleep = state.asleepMs === undefined ? null : asleepMs();
  return asleep === null ? state : withoutSleep(state, asleep, instantOf(Date.now()), watches.size > 0);
}
