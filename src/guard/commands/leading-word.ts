import { isLetterOrDigit } from '../../core/letter-or-digit.ts';

/** What a pattern begins with. */
export interface LeadingWord {
  /** Letters and digits, in small letters where case is ignored. */
  readonly word: string;
  readonly ignoreCase: boolean;
}

/** What options of `rm` are merged into, for the patterns to see. */
const MERGED_OPTIONS = 'rf';

/**
 * The word that a pattern in RE2 syntax begins with, which every match of it contains; null where none is sure. Since it
 * is made of letters and digits, it lies within one word of a command.
 */
export function leadingWord(pattern: string): LeadingWord | null {
  // Another branch would not contain it.
  if (pattern.includes('|')) return null;
  const ignoreCase = pattern.startsWith('(?i)');
  const head = ignoreCase ? '(?i)'.length : 0;
  const start = pattern[head] === '^' ? head + 1 : head;
  let end = start;
  while (isLetterOrDigit(pattern.charCodeAt(end))) end += 1;
  // What is repeated may be missing.
  if (end > start && '*?{'.includes(pattern.charAt(end) || ' ')) end -= 1;
  const word = pattern.slice(start, end);
  if (MERGED_OPTIONS.includes(word)) return null;
  if (!ignoreCase) return { word, ignoreCase };
  const small = word.toLowerCase();
  // The long s and the Kelvin sign are other cases of these two, and keep their own in small letters.
  return small.includes('s') || small.includes('k') ? null : { word: small, ignoreCase };
}
