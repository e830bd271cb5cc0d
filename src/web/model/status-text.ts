import { statusSentence } from '../../text/status-words.ts';

/** Returns a loop's status in words. */
export function statusText(status: string, verified: boolean): string {
  if (status === 'complete') return verified ? 'complete, verified' : 'complete, not verified';
  return statusSentence(status);
}
