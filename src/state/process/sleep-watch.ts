import { withoutSleep } from '../../engine/policy/loop-time.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { instantOf } from '../../text/time.ts';
import { uptimeMs } from './identity.ts';

/** Delay of a look that shows that the machine slept or the process was stopped, unless it was busy. */
export const SLEPT_MS = 5_000;
const LOOK_MS = 330;

const watches = new Set<() => void>();

/**
 * Calls `onSleep`, with the instant from which this process has not run, after its machine slept or it was stopped: soon, and
 * during `lookAtClock`. If the clock was set back, the instant is in the future. Returns a function that ends the watch.
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
    // A long computation is not a sleep: an agent must not get more time for a text that is slow to read.
    if (late < -SLEPT_MS || (late > SLEPT_MS && used - before < late / 2)) onSleep(instantOf(due));
  };
  const timer = setInterval(look, LOOK_MS).unref();
  watches.add(look);
  return () => {
    clearInterval(timer);
    watches.delete(look);
  };
}

/** Lets the watches of this process note a sleep. Called before any decision that depends on the time. */
export function lookAtClock(): void {
  for (const look of watches) look();
}

/**
 * Calls `work` once this process has run for `ms` milliseconds, without the time in which it was stopped or the machine slept:
 * on some systems a timer counts that time. Returns a function that cancels the call.
 */
export function afterAwake(ms: number, work: () => void): () => void {
  let looked = process.uptime();
  let lostMs = 0;
  const look = (): void => {
    const gapMs = (process.uptime() - looked) * 1000;
    looked = process.uptime();
    if (gapMs > SLEPT_MS) lostMs += gapMs;
  };
  const watch = setInterval(look, LOOK_MS).unref();
  const fire = (): void => {
    look();
    if (lostMs === 0) work();
    else timer = setTimeout(fire, lostMs);
    lostMs = 0;
  };
  let timer = setTimeout(fire, ms);
  return () => {
    clearInterval(watch);
    clearTimeout(timer);
  };
}

/** If the reads of both clocks are further apart than this, they are repeated: the machine was busy in between. */
const CLOSE_MS = 330;
const READS = 5;

/**
 * Returns the milliseconds for which this machine has slept since its boot, up to a constant: the difference between a
 * clock that runs during sleep and one that does not. Null on systems without /proc, whose clocks cannot tell.
 */
export function asleepMs(): number | null {
  const awakeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
  for (let read = 0; read < READS; read++) {
    const before = awakeMs();
    const upMs = uptimeMs();
    const later = awakeMs();
    // In some containers the file is empty.
    if (!Number.isFinite(upMs)) return null;
    if (later - before < CLOSE_MS) return Math.round(upMs) - later;
  }
  return null;
}

/** Returns a state whose loop's time excludes the machine's sleep since its last change. */
export function awake<S extends LoopState>(state: S): S {
  const asleep = state.asleepMs === undefined ? null : asleepMs();
  return asleep === null ? state : withoutSleep(state, asleep, instantOf(Date.now()), watches.size > 0);
}
