import { stripVTControlCharacters } from 'node:util';

/**
 * A text that came from an agent or a file, fit for a terminal: without escape sequences and control characters, which
 * could rewrite what the user reads. Line ends and tabs stay.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
