/** Seconds that the Stop hook is registered with: idle waits and the gate run inside it. The client takes a day. */
export const STOP_TIMEOUT_SECONDS = 86_400;
