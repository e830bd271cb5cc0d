/** How long anybody waits for a loop's state before giving up: a hook then lets the stop happen, a command says so. */
export const LOCK_WAIT = { waitMs: 10_000 } as const;
