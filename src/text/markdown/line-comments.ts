/** Part of a text, from its first character to the one after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Pattern for text before a comment that begins its line: list marks and a box. */
const PREFIX = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[[ \txX]\][ \t]+)?$/;

/**
 * Finds the HTML comments of a text, line by line and in linear time. A comment that begins its line may extend over any
 * number of lines, one later in a line to the end of its paragraph, one in a quote to the end of its line. A comment that is
 * not closed by then, or is in inline code, is text.
 */
export class CommentReader {
  readonly #text: string;
  /** Offset after the last comment found. */
  #until = 0;
  /** Next end of a comment, -1 if there is none, and next end of a paragraph. */
  #close = 0;
  #paragraphEnd = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns whether a comment that began on an earlier line contains this offset. */
  isInside(offset: number): boolean {
    return offset < this.#until;
  }

  /** Returns the line without its comments, and the comments that begin on it as offsets in the whole text. */
  read(raw: string, at: number, inQuote: boolean): { readonly text: string; readonly comments: readonly Span[] } {
    const from = Math.max(0, this.#until - at);
    if (raw.indexOf('<!--', from) === -1) return { text: raw.slice(from), comments: [] };
    const comments: Span[] = [];
    let text = '';
    let kept = from;
    let position = 0;
    let isFirst = true;
    const parts = raw.split(/(`+)/);
    // A run of backticks without a closing run of its length is text. Searching for each would take quadratic time.
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

  /** Returns the offset after the comment that begins here, even `<!-->`; null if it is not closed in time. */
  #closeOf(start: number, isFirst: boolean, limit: number | null): number | null {
    if (this.#close !== -1 && this.#close < start + 2) this.#close = this.#text.indexOf('-->', start + 2);
    if (this.#close === -1) return null;
    const most = limit ?? (isFirst ? this.#text.length : this.#endOfParagraph(start));
    return this.#close < most ? this.#close + 3 : null;
  }

  /** A paragraph ends before a blank line, or what can interrupt it: an item, a heading, a quote, a fence. */
  #endOfParagraph(start: number): number {
    if (this.#paragraphEnd > start) return this.#paragraphEnd;
    const end = /(?:\r\n|\n|\r(?!\n))[ \t]*(?=[\n\r]|$|(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|>|`{3}|~{3})/g;
    end.lastIndex = start;
    this.#paragraphEnd = end.exec(this.#text)?.index ?? this.#text.length;
    return this.#paragraphEnd;
  }
}
