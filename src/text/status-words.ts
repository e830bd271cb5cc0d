/** Why a loop stopped, for statuses whose key says too little. */
const STOPS: Readonly<Record<string, string>> = {
  'max-iterations': 'iteration limit',
  'no-progress-exhaustion': 'no progress',
  'circuit-open': 'repeats itself',
  'idle-limit': 'nothing to do',
  'budget-exhausted': 'budget used up',
  'rate-limited': 'rate limit',
  blocked: 'blocked',
  timeout: 'time limit',
  error: 'error',
};

const OTHERS: Readonly<Record<string, string>> = {
  'awaiting-consent': 'awaiting your consent',
  'needs-verification': 'needs manual work',
  'paused-for-review': 'needs a review',
};

/** Returns the status of a loop, run or task in a few words, as a cell of a table. */
export function statusWords(status: string): string {
  return STOPS[status] ?? OTHERS[status] ?? status.replaceAll('-', ' ');
}

const FOLLOWING: Readonly<Record<string, string>> = {
  running: 'the next one',
  waiting: 'a wait',
  paused: 'a pause',
  claimed: 'the checks',
  checked: 'the checks',
};

/** Returns what followed an iteration, according to its recorded decision. */
export function followingWords(decision: string): string {
  return FOLLOWING[decision] ?? statusWords(decision);
}

/** Returns whether work with these proofs is verified; null if one is unknown, such as that of a task in an earlier run. */
export function verifiedBy(proofs: readonly (string | null)[]): boolean | null {
  if (proofs.includes('none')) return false;
  return proofs.includes(null) ? null : true;
}

/** Returns the status of a loop as words that are clear by themselves; `verified` is null if unknown. */
export function statusSentence(status: string, verified: boolean | null): string {
  if (status === 'complete' && verified !== null) return verified ? 'complete, verified' : 'complete, not verified';
  return status in STOPS ? `stopped: ${STOPS[status]}` : statusWords(status);
}
