const LIMIT = 12_000;

/** Keeps the head and the tail of a long text, in bounded memory. */
export class BoundedText {
  #head = '';
  #tail = '';
  #characters = 0;

  add(text: string): void {
    this.#characters += text.length;
    const room = Math.max(0, headOf(LIMIT) - this.#head.length);
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Slicing at every addition would copy the tail too often.
    if (this.#tail.length > LIMIT * 2) this.#tail = this.#tail.slice(-LIMIT);
  }

  isCut(reserve = 0): boolean {
    return this.#characters > LIMIT - reserve;
  }

  /** Returns the text; if it is too long, its first 70 % and its end around `mark`. `reserve` is left free for the caller. */
  text(mark: string, reserve = 0): string {
    if (!this.isCut(reserve)) return (this.#head + this.#tail).trim();
    const room = LIMIT - reserve;
    const start = this.#head.slice(0, headOf(room));
    // If a text exceeds the limit only by the reserve, its tail may still be in the head.
    const end = (this.#head + this.#tail).slice(-Math.max(1, room - start.length - mark.length));
    return `${withoutHalf(start, 'end')}${mark}${withoutHalf(end, 'start')}`.trim();
  }

  /** Returns the last characters, from the beginning of a line if there is one. */
  tail(limit: number): string {
    const all = (this.#head + this.#tail).trimEnd();
    if (all.length <= limit) return all;
    const end = all.slice(-limit);
    return withoutHalf(end.slice(end.indexOf('\n') + 1), 'start');
  }
}

function headOf(limit: number): number {
  return Math.floor(limit * 0.7);
}

/** Drops half of a surrogate pair at a cut. */
function withoutHalf(text: string, side: 'start' | 'end'): string {
  if (side === 'end') return /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(0, -1) : text;
  return /^[\udc00-\udfff]/.test(text.slice(0, 1)) ? text.slice(1) : text;
}
