import type { TerminalStatus } from './schema/state.ts';

export function exitCode(status: TerminalStatus | 'paused'): number {
  switch (status) {
    case 'complete':
    case 'stopped':
      return 0;
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
    case 'paused-for-review':
      return 3;
    case 'interrupted':
    case 'cancelled':
      return 130;
    default:
      return status satisfies never;
  }
}
