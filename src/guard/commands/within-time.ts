import { Script } from 'node:vm';

export const PATTERN_LIMIT_MS = 50;
/** A try in which the processor worked for a smaller part of the time was held up by other programs: there is another. */
const BUSY = 0.8;
/** Tries, and all their work together in parts of the limit, after which it is over whatever held it up. */
const MOST_TRIES = 10;
const MOST_WORK = 2;

const WORK = Symbol.for('ralph-loop.guard-work');
let call: Script | undefined;

/**
 * Runs `work` and ends it after the time limit, even inside a regular expression; returns null then. `work` may be run
 * again if other programs delayed it, so it must not accumulate state. Passes on what it throws.
 */
export function withinTime<T>(limitMs: number, work: () => T): { readonly value: T } | null {
  const global = globalThis as { [WORK]?: () => T };
  call ??= new Script(`globalThis[Symbol.for('${WORK.description}')]()`);
  global[WORK] = work;
  try {
    let worked = 0;
    for (let tries = 1; ; tries += 1) {
      const before = process.cpuUsage();
      try {
        return { value: call.runInThisContext({ timeout: limitMs }) as T };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        const { user, system } = process.cpuUsage(before);
        const part = (user + system) / 1000 / limitMs;
        worked += part;
        if (part >= BUSY || worked >= MOST_WORK || tries === MOST_TRIES) return null;
      }
    }
  } finally {
    delete global[WORK];
  }
}
