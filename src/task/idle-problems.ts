import { formatDuration } from '../core/duration.ts';
import type { Frontmatter } from './frontmatter-schema.ts';
import { IDLE } from './policy-defaults.ts';
import type { KeyProblem } from './problem.ts';

export type IdleBlock = NonNullable<Frontmatter['idle']>;

/** An idle block with what it leaves out: where `delay` exceeds the default `max_delay`, that follows it. */
export function completeIdle(block: IdleBlock) {
  const delay = block.delay ?? IDLE.delayMs;
  return { delay, maxDelay: block.max_delay ?? Math.max(IDLE.maxDelayMs, delay), max: block.max ?? IDLE.maxMs };
}

/** What is wrong between the keys of an idle block, each of which is right by itself. */
export function idleProblems(block: IdleBlock): KeyProblem[] {
  const { delay, maxDelay, max } = completeIdle(block);
  const problems: KeyProblem[] = [];
  const require = (key: 'max_delay' | 'max', value: number): void => {
    if (value >= delay) return;
    const [limit, least] = [formatDuration(value), formatDuration(delay)];
    const origin = block[key] === undefined ? ', the default' : '';
    problems.push({
      keys: ['idle', key],
      value: block[key] ?? null,
      rule: 'idle-order',
      message: `idle.${key} must be at least idle.delay (${least}), but is ${limit}${origin}.`,
      severity: 'error',
    });
  };
  require('max_delay', maxDelay);
  require('max', max);
  return problems;
}
