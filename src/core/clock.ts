/** The first and the last instant that a state file's four-digit year can hold. */
const FIRST = -62_167_219_200_000;
const LAST = 253_402_300_799_999;

/** Milliseconds from `since` to `at`. A clock that jumped back counts as no time. */
export function elapsed(since: string, at: string): number {
  const milliseconds = Date.parse(at) - Date.parse(since);
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : 0;
}

/** The instant `milliseconds` after `at`, or before it where they are negative. One that is no time is given back. */
export function after(at: string, milliseconds: number): string {
  const instant = Date.parse(at) + Math.ceil(milliseconds);
  return Number.isNaN(instant) ? at : new Date(Math.min(LAST, Math.max(FIRST, instant))).toISOString();
}

export function isBefore(at: string, until: string): boolean {
  return Date.parse(at) < Date.parse(until);
}
