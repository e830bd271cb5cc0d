export interface SplitText {
  readonly frontmatter: string;
  /** First line after the opening marker, from 1; null if there is no frontmatter. */
  readonly frontmatterLine: number | null;
  /** Exact text after the closing marker's line, or the whole file without its byte-order mark. */
  readonly body: string;
  readonly bodyLine: number;
  readonly problem?: 'unclosed';
}

const BYTE_ORDER_MARK = 0xfeff;

/** Splits a file at two lines `---`. Only blank lines and an HTML comment may precede the first one. */
export function splitFrontmatter(text: string): SplitText {
  const start = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  const whole: SplitText = {
    frontmatter: '',
    frontmatterLine: null,
    body: start === 0 ? text : text.slice(1),
    bodyLine: 1,
  };
  const opening = skipComments(text, start);
  const beginsLine = opening === start || text[opening - 1] === '\n';
  if (!isMarker(text, opening) || !beginsLine) return whole;
  const from = nextLine(text, opening);
  const frontmatterLine = lineNumber(text, opening, 1, 0) + 1;
  for (let line = from; line < text.length; line = nextLine(text, line)) {
    if (!isMarker(text, line)) continue;
    const after = nextLine(text, line);
    // After a closing marker without newline, the body begins on the marker's line.
    const bodyLine = lineNumber(text, after, frontmatterLine, from);
    return { frontmatter: text.slice(from, line), frontmatterLine, body: text.slice(after), bodyLine };
  }
  return { ...whole, frontmatterLine, problem: 'unclosed' };
}

function skipComments(text: string, at: number): number {
  let place = at;
  for (;;) {
    while (/^[ \t\n\r]$/.test(text.charAt(place))) place += 1;
    if (!text.startsWith('<!--', place)) return place;
    const end = text.indexOf('-->', place + 4);
    if (end === -1) return text.length;
    place = end + 3;
  }
}

const MARKER = /---[ \t]*\r?(?:\n|$)/y;

function isMarker(text: string, at: number): boolean {
  MARKER.lastIndex = at;
  return MARKER.test(text);
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** Counts lines from offset `from`, which is on line `line`. */
function lineNumber(text: string, at: number, line: number, from: number): number {
  let number = line;
  for (let end = text.indexOf('\n', from); end !== -1 && end < at; end = text.indexOf('\n', end + 1)) number += 1;
  return number;
}
