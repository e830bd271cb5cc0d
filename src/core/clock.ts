/** Milliseconds from `since` to `at`. A clock that jumped back counts as no time. */
export function elapsed(since: string, at: string): number {
  const milliseconds = Date.parse(at) - Date.parse(since);
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : 0;
}

/** The instant `milliseconds` after `at`. */
export function after(at: string, milliseconds: number): string {
  const limit = 8.64e15; // the largest time a Date can hold
  return new Date(Math.min(limit, Date.parse(at) + Math.ceil(milliseconds))).toISOString();
}

export function isBefore(at: string, until: string): boolean {
  return Date.parse(at) < Date.parse(until);
}
