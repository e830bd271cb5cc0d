/** How long a test waits for something that has to come, in milliseconds. It only ends what hangs: no result may depend on it. */
export const PATIENCE_MS = 180_000;
