import { Script } from 'node:vm';

export const PATTERN_LIMIT_MS = 50;
/** Minimum share of processor time in a valid attempt; below it, other programs caused the delay and it does not count. */
const BUSY = 0.8;
/** Number of valid attempts: during the first, V8 may have spent much of the time compiling or collecting garbage. */
const MOST_BUSY = 2;
/** Maximum number of attempts, and of their total work in multiples of the limit. */
const MOST_TRIES = 10;
const MOST_WORK = 2;

const WORK = Symbol.for('ralph-loop.guard-work');
let call: Script | undefined;

/**
 * Runs `work` and ends it at the time limit, even inside a regular expression; returns null if it takes longer twice. `work`
 * may run several times, so it must not accumulate state. Rethrows its errors.
 */
export function withinTime<T>(limitMs: number, work: () => T): { readonly value: T } | null {
  const global = globalThis as { [WORK]?: () => T };
  call ??= new Script(`globalThis[Symbol.for('${WORK.description}')]()`);
  global[WORK] = work;
  try {
    let worked = 0;
    let busy = 0;
    for (let tries = 1; ; tries += 1) {
      const before = process.cpuUsage();
      try {
        // An attempt delayed by other programs gets longer: on a busy machine, each would otherwise be just as short.
        return { value: call.runInThisContext({ timeout: limitMs * (tries - busy) }) as T };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        const { user, system } = process.cpuUsage(before);
        const part = (user + system) / 1000 / limitMs;
        worked += part;
        if (part >= BUSY) busy += 1;
        if (busy === MOST_BUSY || worked >= MOST_WORK || tries === MOST_TRIES) return null;
      }
    }
  } finally {
    delete global[WORK];
  }
}
