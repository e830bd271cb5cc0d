/** Words for statuses whose key says too little. */
const WORDS: Readonly<Record<string, string>> = {
  'awaiting-consent': 'waits for your consent',
  'max-iterations': 'stopped: iteration limit',
  'no-progress-exhaustion': 'stopped: no progress',
  'circuit-open': 'stopped: repeats itself',
  'idle-limit': 'stopped: nothing to do',
  'budget-exhausted': 'stopped: budget used up',
  'rate-limited': 'stopped: rate limit',
  blocked: 'stopped: blocked',
  'needs-verification': 'needs manual work',
  'paused-for-review': 'needs a review',
  timeout: 'stopped: time limit',
  error: 'stopped: error',
};

/** Returns the status of a loop, run or task as people read it. */
export function statusWords(status: string): string {
  return WORDS[status] ?? status.replaceAll('-', ' ');
}
