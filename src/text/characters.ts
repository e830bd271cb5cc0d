/** What ends a line of a text, for every reader of one. U+2028 and U+2029 are characters like others. */
export const LINE_END = /\r\n|[\n\r]/;

/** A text of one line that is not empty and has no white space at its ends: a signal that stands alone on its line. */
export const ONE_LINE = /^\S(?:[^\n\r\u0085\u2028\u2029]*\S)?$/;

/** Of ASCII. NaN, which stands behind the end of a text, is none. */
export function isLetterOrDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
