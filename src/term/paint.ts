import { stripVTControlCharacters, styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Paint = (style: Style, text: string) => string;

/** Colours for people at a terminal; NO_COLOR and a dumb terminal turn them off. */
export function painter(atTerminal: boolean, env: NodeJS.ProcessEnv): Paint {
  const plain = !atTerminal || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  // styleText would look at process.stdout again.
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

/** Control characters, and those that turn the direction of what follows: "gpj.exe" would read "exe.jpg". */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u2069]/g;

/** Removes what could rewrite what the user reads: escape sequences and control characters but line ends and tabs. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNSEEN, '');
}
