import { dollarText } from '../engine/messages.ts';
import { formatDuration } from '../text/duration.ts';
import { elapsed } from '../text/instant.ts';

/** `250ms`, `45s`, `1h 30m`: whole seconds from one second on. */
export function timeText(milliseconds: number): string {
  return milliseconds < 1000 ? formatDuration(milliseconds) : formatDuration(Math.round(milliseconds / 1000) * 1000);
}

/** Formats a cost; `$?` if unknown. */
export function costText(amount: number | null): string {
  return amount === null ? 'cost unknown' : dollarText(amount);
}

/** `850`, `12.3k`, `4.1M`. */
export function countText(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${(count / 1_000).toFixed(count < 99_950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function turnsText(turns: number): string {
  return `${turns} turn${turns === 1 ? '' : 's'}`;
}

/** An instant in local time: `2026-02-28 10:00:00`; the text itself if it is no instant. */
export function localTime(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return instant;
  const digits = (value: number, width = 2): string => String(value).padStart(width, '0');
  const day = [digits(date.getFullYear(), 4), digits(date.getMonth() + 1), digits(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => digits(part)).join(':')}`;
}

/** `2026-02-28 10:00:00, 12m ago` (or `in 12m`), in local time. */
export function instantText(instant: string, now: string): string {
  const [past, future] = [elapsed(instant, now), elapsed(now, instant)];
  return `${localTime(instant)}, ${future > 0 ? `in ${formatDuration(future)}` : `${formatDuration(past)} ago`}`;
}

/** Returns why a call was denied, and the option that would allow it. */
export function deniedText({ reason = '', allow }: { readonly reason?: string; readonly allow?: string }): string {
  const option = allow === undefined ? '' : ` Allow it with the option: ${allow}`;
  return `denied: ${reason.trim().replace(/[^.!?]$/, '$&.')}${option}`;
}
