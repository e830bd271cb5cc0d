import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Paint = (style: Style, text: string) => string;

/** Colours for people at a terminal; NO_COLOR and a dumb terminal turn them off. */
export function painter(forPeople: boolean, env: NodeJS.ProcessEnv): Paint {
  const plain = !forPeople || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  // Whether to colour is decided here already; styleText would look at process.stdout again.
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}
