import { eastAsianWidth } from 'get-east-asian-width';

/** What a person sees as one character, and how many cells of a terminal it takes: 0, 1 or 2 (rarely more). */
export interface Grapheme {
  readonly text: string;
  readonly cells: number;
}

const PLAIN = /^[\u0020-\u007e]*$/;
const EMOJI = /\ufe0f|\u200d|[\u{1f1e6}-\u{1f1ff}]{2}|[\u{1f3fb}-\u{1f3ff}]/u;
/** Marks that sit on the character before them, and characters that nobody sees. */
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u115f\u1160-\u11ff\u3164\uffa0]$/u;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The characters of a text without control characters, one by one. */
export function graphemes(text: string): Grapheme[] {
  if (PLAIN.test(text)) return [...text].map((one) => ({ text: one, cells: 1 }));
  return Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, cells: cellsOf(segment) }));
}

/** Cells that a text takes in a terminal. Where terminals differ, rather too many than too few. */
export function cells(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, one) => sum + one.cells, 0);
}

function cellsOf(grapheme: string): number {
  let sum = 0;
  for (const character of grapheme) {
    if (!NOTHING.test(character)) sum += eastAsianWidth(character.codePointAt(0) ?? 0);
  }
  // Several code points that are shown as one picture.
  return EMOJI.test(grapheme) && sum > 0 ? 2 : sum;
}
