/** What the drivers say to people: what happened, where, what to do next. */
export const HOOK_TEXTS = {
  newer: (path: string, version: number): string =>
    `the state file ${path} was written by a newer ralph-loop (schema ${version}). Update this one; the file was not touched.`,
  corrupt: (moved: string, problem: string): string =>
    `the state file could not be read (${problem}). It was moved to ${moved}, and the loop is over. Start again with: main.cjs start --resume or --fresh.`,
  restored: (moved: string, iteration: number): string =>
    `the loop's state had been rewritten from outside. It was restored from the contract and the journal (iteration ${iteration}); what was found lies in ${moved}.`,
  orphaned:
    'the contract of this loop is gone, so that nothing proves what may run. Stop it (main.cjs cancel) or start it again: main.cjs start --resume.',
  taskMissing: (path: string): string =>
    `the task file ${path} is missing or empty, so the loop is over. Write it and start again: main.cjs start --resume.`,
  frontmatterChanged: (path: string): string =>
    `the frontmatter of ${path} changed while the loop runs. It is not adopted: the loop goes on under its contract. The user can adopt it with: main.cjs accept.`,
  failed: (message: string, log: string): string =>
    `the Stop hook failed and let the turn end: ${message} Details: ${log}. The loop is still there: main.cjs status.`,
  waiting: (seconds: string): string => `idle, next look in ${seconds}.`,
  background: (labels: string): string => `waiting for background work: ${labels}.`,
  vanished:
    'the state file of this loop is gone, so the loop is over. If nobody meant that: main.cjs start --resume goes on from the archive, --fresh begins anew.',
  cancelled: 'this loop was cancelled by the user: stop working on it and end your turn.',
} as const;

/** Every line that reaches the user through the client begins so. */
export function said(message: string): string {
  return `ralph: ${message}`;
}
