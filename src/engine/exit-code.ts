import type { TerminalStatus } from './schema/state.ts';

const CODES: Readonly<Record<TerminalStatus | 'paused', number>> = {
  complete: 0,
  error: 1,
  timeout: 1,
  'max-iterations': 2,
  'no-progress-exhaustion': 2,
  'idle-limit': 2,
  'circuit-open': 2,
  'budget-exhausted': 2,
  'rate-limited': 2,
  blocked: 3,
  'needs-verification': 3,
  paused: 3,
  stopped: 3,
  'paused-for-review': 3,
  interrupted: 130,
  cancelled: 130,
};

/** Returns the exit code of a loop: 0 only for complete. `lacksProof`: the caller requires a verified completion. */
export function exitCode(status: TerminalStatus | 'paused', lacksProof = false): number {
  return status === 'complete' && lacksProof ? 3 : CODES[status];
}
