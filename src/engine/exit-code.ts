import type { TerminalStatus } from './schema/state.ts';

/** Returns the exit code of a loop: 0 means complete and nothing else. `lacksProof`: the caller requires a verification. */
export function exitCode(status: TerminalStatus | 'paused', lacksProof = false): number {
  switch (status) {
    case 'complete':
      return lacksProof ? 3 : 0;
    case 'error':
    case 'timeout':
      return 1;
    case 'max-iterations':
    case 'no-progress-exhaustion':
    case 'idle-limit':
    case 'circuit-open':
    case 'budget-exhausted':
    case 'rate-limited':
      return 2;
    case 'blocked':
    case 'needs-verification':
    case 'paused':
    case 'stopped':
    case 'paused-for-review':
      return 3;
    case 'interrupted':
    case 'cancelled':
      return 130;
    default:
      return status satisfies never;
  }
}
