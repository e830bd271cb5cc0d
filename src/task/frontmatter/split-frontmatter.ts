export interface SplitText {
  readonly frontmatter: string;
  /** First line after the opening marker, from 1; null if there is no frontmatter. */
  readonly frontmatterLine: number | null;
  /** Exact text after the closing marker's line, or the whole file without its byte-order mark. */
  readonly body: string;
  readonly bodyLine: number;
  readonly problem?: 'unclosed';
}

/** What may precede the opening marker: blanks and comments. */
const BEFORE = /[ \t\n\r]+|<!--[\s\S]*?-->/y;
const OPENING = /(?<=^\uFEFF?|\n)---[ \t]*\r?(?:\n|$)/y;
const CLOSING = /(?<=\n)---[ \t]*\r?(?:\n|$)/g;

/** Splits a file at two lines `---`. Only blank lines and an HTML comment may precede the first one. */
export function splitFrontmatter(text: string): SplitText {
  const start = text.startsWith('\uFEFF') ? 1 : 0;
  const whole: SplitText = { frontmatter: '', frontmatterLine: null, body: text.slice(start), bodyLine: 1 };
  OPENING.lastIndex = start;
  for (BEFORE.lastIndex = start; BEFORE.test(text); ) OPENING.lastIndex = BEFORE.lastIndex;
  const opening = OPENING.exec(text);
  if (opening === null) return whole;
  const from = OPENING.lastIndex;
  const frontmatterLine = 2 + newlinesIn(text.slice(0, opening.index));
  CLOSING.lastIndex = from;
  const closing = CLOSING.exec(text);
  if (closing === null) return { ...whole, frontmatterLine, problem: 'unclosed' };
  const body = text.slice(CLOSING.lastIndex);
  // If the file ends right after the closing marker, the body begins on the marker's line.
  const bodyLine = frontmatterLine + newlinesIn(text.slice(from, CLOSING.lastIndex));
  return { frontmatter: text.slice(from, closing.index), frontmatterLine, body, bodyLine };
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1;
}
