export interface VisibleLine {
  /** The line without its terminator, inline code blanked out with spaces. */
  readonly text: string;
  readonly number: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/**
 * The lines of a Markdown text in which a signal can count: outside code fences, indented code, block quotes and
 * inline code. A fence that is never closed runs to the end of the text, as CommonMark has it.
 */
export function visibleLines(text: string): VisibleLine[] {
  const visible: VisibleLine[] = [];
  let fence: string | null = null;
  for (const [index, line] of text.split(/\r\n|[\n\r]/).entries()) {
    const [, marks, info = ''] = FENCE.exec(line) ?? [];
    if (fence !== null) {
      if (marks?.startsWith(fence) && info.trim() === '') fence = null;
      continue;
    }
    if (marks !== undefined && !(marks.startsWith('`') && info.includes('`'))) {
      fence = marks;
      continue;
    }
    if (/^( {4}|\t)/.test(line) || /^ {0,3}>/.test(line)) continue;
    visible.push({ text: blankInlineCode(line), number: index + 1 });
  }
  return visible;
}

function blankInlineCode(line: string): string {
  if (!line.includes('`')) return line;
  let out = '';
  let at = 0;
  while (at < line.length) {
    const open = /`+/g;
    open.lastIndex = at;
    const start = open.exec(line);
    if (!start) break;
    const close = closingRun(line, start.index + start[0].length, start[0].length);
    out += line.slice(at, start.index);
    if (close === -1) {
      // An unclosed run is text.
      out += start[0];
      at = start.index + start[0].length;
    } else {
      out += ' '.repeat(close - start.index);
      at = close;
    }
  }
  return out + line.slice(at);
}

/** The index just past the next run of exactly `length` backticks, or -1. */
function closingRun(line: string, from: number, length: number): number {
  const run = /`+/g;
  run.lastIndex = from;
  for (let match = run.exec(line); match; match = run.exec(line)) {
    if (match[0].length === length) return match.index + length;
  }
  return -1;
}
