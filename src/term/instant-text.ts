import { elapsed } from '../core/clock.ts';
import { formatDuration } from '../core/duration.ts';

/** `2026-02-28 10:00:00 UTC, 12m ago` (or `in 12m`). */
export function instantText(instant: string, now: string): string {
  const day = instant.slice(0, 19).replace('T', ' ');
  const [past, future] = [elapsed(instant, now), elapsed(now, instant)];
  return `${day} UTC, ${future > 0 ? `in ${formatDuration(future)}` : `${formatDuration(past)} ago`}`;
}
