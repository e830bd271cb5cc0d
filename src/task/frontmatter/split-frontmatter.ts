export interface SplitText {
  /** The exact text between the two markers, terminators included; '' where there is none. */
  readonly frontmatter: string;
  /** Line of the file after its opening marker, from 1; null where there is no such marker. */
  readonly frontmatterLine: number | null;
  /** The exact text after the closing marker's line; the whole file, without its byte-order mark, where there is no frontmatter. */
  readonly body: string;
  /** Line of the file on which the body begins, from 1. */
  readonly bodyLine: number;
  /** The opening marker has no closing one. */
  readonly problem?: 'unclosed';
}

const BYTE_ORDER_MARK = 0xfeff;

/**
 * Splits a task file into frontmatter and body. The opening marker is the first line that is neither blank nor part of
 * a leading HTML comment, and is `---`; the closing one is the next such line. Reads each character at most a few
 * times, whatever the text, and never throws.
 */
export function splitFrontmatter(text: string): SplitText {
  const start = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  const whole: SplitText = {
    frontmatter: '',
    frontmatterLine: null,
    body: start === 0 ? text : text.slice(1),
    bodyLine: 1,
  };
  const opening = skipComments(text, start);
  if (!isMarker(text, opening) || !beginsLine(text, opening, start)) return whole;
  const from = nextLine(text, opening);
  const frontmatterLine = lineNumber(text, opening, 1, 0) + 1;
  for (let line = from; line < text.length; line = nextLine(text, line)) {
    if (!isMarker(text, line)) continue;
    const after = nextLine(text, line);
    // A closing marker that ends the file without a newline has its body on its own line.
    const bodyLine = lineNumber(text, after, frontmatterLine, from);
    return { frontmatter: text.slice(from, line), frontmatterLine, body: text.slice(after), bodyLine };
  }
  return { ...whole, frontmatterLine, problem: 'unclosed' };
}

/** The first place after `at` that is neither white space nor an HTML comment. */
function skipComments(text: string, at: number): number {
  let place = at;
  for (;;) {
    while (isSpace(text.charCodeAt(place))) place += 1;
    if (!text.startsWith('<!--', place)) return place;
    const end = text.indexOf('-->', place + 4);
    if (end === -1) return text.length;
    place = end + 3;
  }
}

/** true for a line of exactly three hyphens; white space may follow them. */
function isMarker(text: string, at: number): boolean {
  if (!text.startsWith('---', at)) return false;
  let place = at + 3;
  while (text[place] === ' ' || text[place] === '\t') place += 1;
  if (text[place] === '\r') place += 1;
  return place >= text.length || text[place] === '\n';
}

function beginsLine(text: string, at: number, start: number): boolean {
  return at === start || text[at - 1] === '\n';
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** The line of `at`, counted on from `from`, which lies on line `line`. */
function lineNumber(text: string, at: number, line: number, from: number): number {
  let number = line;
  for (let end = text.indexOf('\n', from); end !== -1 && end < at; end = text.indexOf('\n', end + 1)) number += 1;
  return number;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
