/** A part of a text, from its first character to the one behind its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What may precede a comment that begins its line: list marks and a box. */
const PREFIX = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[[ \txX]\][ \t]+)?$/;

/**
 * Finds the HTML comments of a text, line by line and in linear time. One that begins its line runs over any lines, one
 * further on in a line to the end of its paragraph, one in a quote to the end of its line. What is not closed there, and
 * what inline code holds, is text.
 */
export class CommentReader {
  readonly #text: string;
  /** Offset behind the comment that was found last. */
  #until = 0;
  /** The next end of a comment, -1 where there is none, and the next blank line. */
  #close = 0;
  #blank = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns whether a comment that began on an earlier line contains this offset. */
  isInside(offset: number): boolean {
    return offset < this.#until;
  }

  /** Returns the line without its comments, and those that begin on it as offsets in the whole text. */
  read(raw: string, at: number, inQuote: boolean): { readonly text: string; readonly comments: readonly Span[] } {
    const from = Math.max(0, this.#until - at);
    if (raw.indexOf('<!--', from) === -1) return { text: raw.slice(from), comments: [] };
    const comments: Span[] = [];
    let text = '';
    let kept = from;
    let position = 0;
    let isFirst = true;
    const parts = raw.split(/(`+)/);
    // A run of backticks that no later one of its length closes is text. A search for each would take quadratic time.
    const last = new Map(parts.map((part, index) => [part, index]));
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] ?? '';
      if (part.startsWith('`') && position >= kept && last.get(part) !== index) {
        const closing = parts.indexOf(part, index + 1);
        for (; index < closing; index++) position += parts[index]?.length ?? 0;
        position += part.length;
        isFirst = false;
        continue;
      }
      const next = (from: number): number => part.indexOf('<!--', Math.max(0, from - position));
      for (let found = next(kept); found !== -1; ) {
        const start = position + found;
        const before = raw.slice(kept, start);
        isFirst = isFirst && PREFIX.test(before);
        const close = this.#closeOf(at + start, isFirst, inQuote ? at + raw.length : null);
        if (close === null) found = next(start + 4);
        else {
          text += before;
          kept = Math.min(raw.length, close - at);
          comments.push({ start: at + start, end: close });
          this.#until = close;
          found = next(kept);
        }
      }
      position += part.length;
    }
    return { text: text + raw.slice(kept), comments };
  }

  /** The offset behind the comment that begins here; null for one that is not closed in time. */
  #closeOf(start: number, isFirst: boolean, limit: number | null): number | null {
    if (this.#close !== -1 && this.#close < start + 4) this.#close = this.#text.indexOf('-->', start + 4);
    if (this.#close === -1) return null;
    const most = limit ?? (isFirst ? this.#text.length : this.#nextBlank(start));
    return this.#close < most ? this.#close + 3 : null;
  }

  #nextBlank(start: number): number {
    if (this.#blank > start) return this.#blank;
    const blank = /(?:\r\n|\n|\r(?!\n))[ \t]*(?=[\n\r]|$)/g;
    blank.lastIndex = start;
    this.#blank = blank.exec(this.#text)?.index ?? this.#text.length;
    return this.#blank;
  }
}
