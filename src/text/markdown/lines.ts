import { LINE_END } from '../characters.ts';

export interface PlainLine {
  /** The line without its terminator and without the comments in it. */
  readonly text: string;
  /** Counted from 1. */
  readonly number: number;
}

/**
 * The lines of a Markdown text outside code fences and HTML comments: what counts in a file that people and agents
 * keep together, with examples in it. A fence that is never closed runs to the end of the text, and so does a comment
 * that begins its line; further on in a line `<!--` is text where nothing closes it there, for people write about it.
 */
export function* plainLines(text: string): Generator<PlainLine> {
  let fence: string | null = null;
  let comment = false;
  for (const [index, raw] of text.split(LINE_END).entries()) {
    if (!comment) {
      const step = stepFence(fence, raw);
      fence = step.fence;
      if (step.inside) continue;
    }
    const kept = withoutComments(raw, comment);
    comment = kept.open;
    yield { text: kept.text, number: index + 1 };
  }
}

/** One line without the HTML comments in it; `open` says whether it begins, and then whether it ends, inside one. */
export function withoutComments(raw: string, open: boolean): { text: string; open: boolean } {
  let text = '';
  let at = 0;
  let inside = open;
  for (;;) {
    let next = raw.indexOf(inside ? '-->' : '<!--', at);
    if (!inside && raw.slice(0, next).trim() !== '' && !raw.includes('-->', next + 4)) next = -1;
    if (!inside) text += next === -1 ? raw.slice(at) : raw.slice(at, next);
    if (next === -1) return { text, open: inside };
    at = next + (inside ? 3 : 4);
    inside = !inside;
  }
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/s;

/**
 * One line of a Markdown text, for readers that pass over code fences: `fence` is the mark of the fence that is open
 * after it, or null; `inside` says that the line belongs to one, as its mark or its content. For whole fences as
 * CommonMark has them, in lists too, see visible-lines.
 */
export function stepFence(fence: string | null, line: string): { fence: string | null; inside: boolean } {
  const [, marks, info = ''] = FENCE.exec(line) ?? [];
  if (fence !== null) {
    const closed = marks?.startsWith(fence) && info.trim() === '';
    return { fence: closed ? null : fence, inside: true };
  }
  const opened = marks !== undefined && !(marks.startsWith('`') && info.includes('`'));
  return { fence: opened ? marks : null, inside: opened };
}
