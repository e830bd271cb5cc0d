import { stripVTControlCharacters } from 'node:util';

/** Control characters, and those that turn the direction of what follows: "gpj.exe" would read "exe.jpg". */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text that came from an agent or a file, fit for a terminal: without escape sequences and characters that could
 * rewrite what the user reads. Line ends and tabs stay.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNSEEN, '');
}
