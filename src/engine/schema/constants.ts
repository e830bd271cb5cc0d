/** The state file's own version. A file with a larger number belongs to a newer program and is left untouched. */
export const SCHEMA_VERSION = 2;

/** Of the state in the project and of the record outside it. A file with a higher one is left as it is. */
export const TDD_VERSION = 1;

/** Seconds that the Stop hook is registered with: idle waits and the gate run inside it. The client takes a day. */
export const STOP_TIMEOUT_SECONDS = 86_400;

/** Ends and pauses that a notification can report. */
export const NOTIFY_KINDS = ['complete', 'blocked', 'paused', 'limit', 'error'] as const;

/** Version of the event stream; its readers ignore types and keys that they do not know. */
export const EVENT_VERSION = 1;
