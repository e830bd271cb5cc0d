import type { TestContext } from 'node:test';
import { until } from '../../../support/until.ts';

/**
 * What comes of work that sets a limit of `ms`: its time is up as soon as this holds, and not before, however slow the
 * machine is. All other waits of the work are the real ones.
 */
export async function whenTimeIsUp<T>(
  { mock }: TestContext,
  ms: number,
  what: string,
  holds: () => boolean,
  work: () => Promise<T>,
): Promise<T> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    await until(what, () => isOver || holds());
    if (isOver) throw new Error(`over before ${what}`, { cause: await working });
    mock.timers.tick(ms - 1);
    mock.timers.tick(1);
    mock.timers.reset();
    return await working;
  } finally {
    mock.timers.reset();
  }
}
