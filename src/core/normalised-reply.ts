import type { Policy } from './schema/policy.ts';
import { completionText } from './signals.ts';

/**
 * A reply reduced to what makes it a repetition of another: white space collapsed, case folded, signals and markers
 * taken out, trailing punctuation dropped. Digits stay, so that a count that falls is no repetition.
 */
export function normalisedReply(text: string, policy: Pick<Policy, 'completion'>): string {
  const wanted = completionText(policy.completion);
  const plain = wanted === null ? text : text.split(wanted).join(' ');
  return plain
    .replace(/<!--\s*ralph:state\s+[a-z][a-z0-9_-]*\s*-->/g, ' ')
    .replace(/RALPH_ITERATION_COMPLETE:/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .replace(/[\p{P}\s]+$/u, '');
}
