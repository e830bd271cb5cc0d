import { formatDuration } from './time.ts';

/** Formats dollars: `$1.44`; four digits below a cent. */
export function dollarText(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`;
}

/** Formats a cost: `$1.44`, `cost unknown`, or `at least $1.44` if the cost of some runs is unknown. */
export function costText(amount: number | null, isPartial = false): string {
  if (amount === null) return 'cost unknown';
  return isPartial ? `at least ${dollarText(amount)}` : dollarText(amount);
}

/** Formats a count: `850`, `12.3k`, `4.1M`. */
export function countText(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${(count / 1_000).toFixed(count < 99_950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Formats a duration: `250ms`, `45s`, `1h 30m`; in whole seconds from one second on. */
export function timeText(milliseconds: number): string {
  return milliseconds < 1000 ? formatDuration(milliseconds) : formatDuration(Math.round(milliseconds / 1000) * 1000);
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
