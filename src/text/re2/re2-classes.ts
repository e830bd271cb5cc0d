import { isLetterOrDigit } from '../characters.ts';

/** First and last code point. */
export type Range = readonly [number, number];

const LAST = 0x10ffff;
const DIGIT: Range[] = [[0x30, 0x39]];
const UPPER: Range[] = [[0x41, 0x5a]];
const LOWER: Range[] = [[0x61, 0x7a]];
const ALPHA = [...UPPER, ...LOWER];
const WORD: Range[] = [...DIGIT, ...ALPHA, [0x5f, 0x5f]];

/** What RE2's classes hold: ASCII alone. `\s` has no vertical tab, `[:space:]` has. */
const POSIX: Readonly<Record<string, readonly Range[]>> = {
  alnum: [...DIGIT, ...ALPHA],
  alpha: ALPHA,
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  digit: DIGIT,
  graph: [[0x21, 0x7e]],
  lower: LOWER,
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  upper: UPPER,
  word: WORD,
  xdigit: [...DIGIT, [0x41, 0x46], [0x61, 0x66]],
};
const PERL: Readonly<Record<string, readonly Range[]>> = {
  d: DIGIT,
  s: [
    [0x09, 0x0a],
    [0x0c, 0x0d],
    [0x20, 0x20],
  ],
  w: WORD,
};

/** What `\d`, `\S` and their like hold, by the letter; null for any other letter. */
export function rangesOf(letter: string, ignoreCase: boolean): readonly Range[] | null {
  const name = letter.toLowerCase();
  const set = Object.hasOwn(PERL, name) ? PERL[name] : undefined;
  if (set === undefined) return null;
  return name === letter ? set : complement(set, ignoreCase);
}

/** The inner part of `[[:name:]]` or `[[:^name:]]`. */
export function shownSet(name: string, negated: boolean, ignoreCase: boolean): string {
  const set = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
  if (set === undefined) throw new SyntaxError(`there is no class [:${name}:]`);
  return shownRanges(negated ? complement(set, ignoreCase) : set);
}

/** Ranges as they stand between the brackets of a class. */
export function shownRanges(ranges: readonly Range[]): string {
  return ranges.map(([low, high]) => (low === high ? shown(low) : `${shown(low)}-${shown(high)}`)).join('');
}

const CATEGORY = /^(?:[LMNPSZ]|C[cfos]|L[lmotu]|M[cen]|N[dlo]|P[cdefios]|S[ckmo]|Z[lps]|Any)$/;
const PROPERTY = /\\([pP])(?:\{(\^?)(\w+)\}|(\w))/y;

/** `\pN`, `\p{Greek}`, `\P{^Lu}` at this place, as the inner part of a class; null where none stands. */
export function propertyClass(
  text: string,
  at: number,
): { readonly inner: string; readonly negated: boolean; readonly length: number } | null {
  PROPERTY.lastIndex = at;
  const [whole, letter, caret, long, short] = PROPERTY.exec(text) ?? [];
  const name = long ?? short;
  if (whole === undefined || name === undefined) return null;
  return { inner: shownProperty(name), negated: (letter === 'P') !== (caret === '^'), length: whole.length };
}

function shownProperty(name: string): string {
  // RE2 counts no unassigned code points among the others, JavaScript does.
  if (name === 'C') return '\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}';
  return CATEGORY.test(name) ? `\\p{${name}}` : `\\p{Script=${name}}`;
}

/** Everything else. Where case is ignored, the other case of what the set holds is left out too, as RE2 does it. */
function complement(ranges: readonly Range[], ignoreCase: boolean): Range[] {
  const left = [...ranges, ...(ignoreCase ? otherCase(ranges) : [])].sort(([a], [b]) => a - b);
  const gaps: Range[] = [];
  let next = 0;
  for (const [low, high] of left) {
    if (low > next) gaps.push([next, low - 1]);
    next = Math.max(next, high + 1);
  }
  if (next <= LAST) gaps.push([next, LAST]);
  return gaps;
}

/** Of ASCII sets. The long s and the Kelvin sign are other cases of s and k. */
function otherCase(ranges: readonly Range[]): Range[] {
  const has = (code: number): boolean => ranges.some(([low, high]) => low <= code && code <= high);
  const other: Range[] = [];
  for (let upper = 0x41; upper <= 0x5a; upper++) {
    const lower = upper + 0x20;
    if (!has(upper) && !has(lower)) continue;
    other.push([upper, upper], [lower, lower]);
    if (upper === 0x53) other.push([0x17f, 0x17f]);
    if (upper === 0x4b) other.push([0x212a, 0x212a]);
  }
  return other;
}

function shown(code: number): string {
  return isLetterOrDigit(code) ? String.fromCodePoint(code) : `\\u{${code.toString(16)}}`;
}
