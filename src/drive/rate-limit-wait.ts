import { parseDuration } from '../core/duration.ts';
import { RalphError } from '../core/ralph-error.ts';

const FIRST_MS = 60_000;
const MAX_MS = 30 * 60_000;

/**
 * How long to wait for the nth time (0 is the first) when a rate limit does not say until when: RALPH_RATE_LIMIT_WAIT,
 * or a minute, doubled each time up to half an hour. Throws RalphError on a value that is no duration.
 */
export function rateLimitWait(env: NodeJS.ProcessEnv, nth: number): number {
  const named = env['RALPH_RATE_LIMIT_WAIT'];
  const first = named ? parseDuration(named) : FIRST_MS;
  if (first === null || first <= 0) {
    throw new RalphError('usage', `RALPH_RATE_LIMIT_WAIT is "${named}": give a duration such as 90s or 5m.`);
  }
  return Math.min(first * 2 ** nth, Math.max(first, MAX_MS));
}
