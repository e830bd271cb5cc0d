export interface BoundedOutput {
  readonly add: (text: string, bytes: number) => void;
  /**
   * What was added, trimmed; of more than the limit the first 70 % and the end, with a mark between them. `reserve` are
   * characters of the limit that the caller needs for words of its own.
   */
  readonly text: (reserve?: number) => string;
  /** Whether `text` leaves something out. */
  readonly isCut: (reserve?: number) => boolean;
  /** Of everything that was added. */
  readonly bytes: () => number;
}

/** What fits into a prompt. */
const OUTPUT_LIMIT = 12_000;

/** Keeps the head and the tail of an output of any length in bounded memory. */
export function boundedOutput(): BoundedOutput {
  const headSize = headOf(OUTPUT_LIMIT);
  let head = '';
  let tail = '';
  let bytes = 0;
  let characters = 0;
  const isCut = (reserve = 0): boolean => characters > OUTPUT_LIMIT - reserve;
  return {
    add: (text, size) => {
      bytes += size;
      characters += text.length;
      const room = Math.max(0, headSize - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      // Cut rarely: a slice for each little chunk would copy the tail again and again.
      if (tail.length > OUTPUT_LIMIT * 2) tail = tail.slice(-OUTPUT_LIMIT);
    },
    text: (reserve = 0) => {
      if (!isCut(reserve)) return (head + tail).trim();
      const room = OUTPUT_LIMIT - reserve;
      const mark = `\n[… ${bytes} bytes in all, the middle left out …]\n`;
      const start = head.slice(0, headOf(room));
      // The end of a text that only the reserve makes too long may still lie in the head.
      const end = (head + tail).slice(-Math.max(1, room - start.length - mark.length));
      return `${withoutHalf(start, 'end')}${mark}${withoutHalf(end, 'start')}`.trim();
    },
    isCut,
    bytes: () => bytes,
  };
}

function headOf(limit: number): number {
  return Math.floor(limit * 0.7);
}

/** A cut through a surrogate pair leaves half a character, which is none. */
function withoutHalf(text: string, side: 'start' | 'end'): string {
  if (side === 'end') return /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(0, -1) : text;
  return /^[\udc00-\udfff]/.test(text.slice(0, 1)) ? text.slice(1) : text;
}

/** A line of this many characters is given in parts: nobody reads it, and it must not fill the memory. */
const MAX_LINE = 16_384;

/** Cuts a stream of text into lines, without their terminators; `end` gives the last one that has none. */
export function lineSplitter(onLine: (line: string) => void): {
  readonly add: (text: string) => void;
  readonly end: () => void;
} {
  let rest = '';
  return {
    add: (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (rest.length > MAX_LINE) {
        onLine(rest);
        rest = '';
      }
    },
    end: () => {
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}
