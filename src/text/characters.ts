/** Pattern for line ends, shared by all readers. U+2028 and U+2029 are ordinary characters. */
export const LINE_END = /\r\n|[\n\r]/;

/** Pattern for a non-empty text on one line without white space at its ends, such as a signal. */
export const ONE_LINE = /^\S(?:[^\n\r\u0085\u2028\u2029]*\S)?$/;

/**
 * Returns the position of a text's first letter or digit of any script; the text's length if it has none. Tries ASCII
 * first: V8 takes up to half a millisecond to compile a Unicode class, in every process.
 */
export function firstWordAt(text: string): number {
  let at = 0;
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (isLetterOrDigit(code) || (code >= 0x80 && /[\p{L}\p{N}]/u.test(character))) return at;
    at += character.length;
  }
  return at;
}

/** Returns whether a text has a letter or digit of any script. */
export function hasWord(text: string): boolean {
  return firstWordAt(text) < text.length;
}

/** Removes the given characters at both ends of a text, or `last` at its end. A loop: `[…]+$` takes quadratic time. */
export function withoutEnds(text: string, first: string, last = first): string {
  let [start, end] = [0, text.length];
  while (start < end && first.includes(text.charAt(start))) start += 1;
  while (end > start && last.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** Returns whether a code is an ASCII letter or digit; false for NaN, the code after the end of a text. */
export function isLetterOrDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
