/** Words for statuses whose key says too little; any other status is its own word. */
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

/** Returns a loop's status in words. */
export function statusText(status: string, verified: boolean): string {
  if (status === 'complete') return verified ? 'complete, verified' : 'complete, not verified';
  return WORDS[status] ?? status;
}
