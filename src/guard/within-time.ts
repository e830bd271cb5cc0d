import { Script } from 'node:vm';

/** Spec 01, D36: what the user's patterns may take for one call, in milliseconds of the processor. */
const LIMIT_MS = 50;
/** A try in which the processor worked for less than this was held up by other programs: it counts for nothing. */
const BUSY_MS = 0.8 * LIMIT_MS;
const MOST_TRIES = 10;

const WORK = Symbol.for('ralph-loop.guard-work');
let call: Script | undefined;

/**
 * Runs `work`, and ends it where it takes longer than 50 ms, in the middle of a regular expression if need be; null
 * then. `work` may be begun anew, so it must change nothing but what it sets again. What it throws is thrown.
 */
export function withinTime<T>(work: () => T): { readonly value: T } | null {
  const global = globalThis as { [WORK]?: () => T };
  call ??= new Script(`globalThis[Symbol.for('${WORK.description}')]()`);
  global[WORK] = work;
  try {
    for (let tries = 1; ; tries += 1) {
      const before = process.cpuUsage();
      try {
        return { value: call.runInThisContext({ timeout: LIMIT_MS }) as T };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        const { user, system } = process.cpuUsage(before);
        if ((user + system) / 1000 >= BUSY_MS || tries === MOST_TRIES) return null;
      }
    }
  } finally {
    delete global[WORK];
  }
}
