import type { Policy } from '../schema/policy.ts';
import { completionText } from './signals.ts';

/** For comparison: no signals, markers and final punctuation. Digits stay: a falling count is no repetition. */
export function normalisedReply(text: string, policy: Pick<Policy, 'completion'>): string {
  const wanted = completionText(policy.completion);
  const plain = wanted === null ? text : text.split(wanted).join(' ');
  return withoutTrailingPunctuation(
    plain
      .replace(/<!--\s*ralph:state\s+[a-z][a-z0-9_-]*\s*-->/g, ' ')
      .replace(/RALPH_ITERATION_COMPLETE:/g, ' ')
      .replace(/\s{2,}|[^\S ]/g, ' ')
      .trim()
      .toLowerCase(),
  );
}

/** Character by character: a pattern that ends in `$` costs quadratic time on a long run that ends elsewhere. */
function withoutTrailingPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && isPunctuation(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Punctuation or white space. The class of all scripts is only asked where it is needed: it takes 0.15 ms to compile. */
function isPunctuation(character: string): boolean {
  return character < '\x80' ? /[!-#%-*,-/:;?@[-\]_{}\s]/.test(character) : /[\p{P}\s]/u.test(character);
}

/** Of an error what is the same each time: no ids, instants and addresses, white space collapsed. */
export function normalisedError(message: string): string {
  return message
    .replace(/\b(?:req|msg|toolu)_\w+|\b[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z?|0x[\da-f]+|\d{5,}/gi, '…')
    .replace(/\s+/g, ' ')
    .trim();
}
