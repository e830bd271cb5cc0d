export interface BoundedOutput {
  readonly add: (text: string, bytes: number) => void;
  /** Beyond the limit the first 70 % and the end. `reserve` is what the caller needs of the limit for its own words. */
  readonly text: (reserve?: number) => string;
  readonly isCut: (reserve?: number) => boolean;
  readonly bytes: () => number;
}

const OUTPUT_LIMIT = 12_000;

/** Keeps head and tail of an output in bounded memory. */
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
      // Slicing at every chunk would copy the tail again and again.
      if (tail.length > OUTPUT_LIMIT * 2) tail = tail.slice(-OUTPUT_LIMIT);
    },
    text: (reserve = 0) => {
      if (!isCut(reserve)) return (head + tail).trim();
      const room = OUTPUT_LIMIT - reserve;
      const mark = `\n[… ${bytes} bytes in all, the middle left out …]\n`;
      const start = head.slice(0, headOf(room));
      // The tail of a text that exceeds the limit only by the reserve may still be in the head.
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

/** Drops half of a surrogate pair at a cut. */
function withoutHalf(text: string, side: 'start' | 'end'): string {
  if (side === 'end') return /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(0, -1) : text;
  return /^[\udc00-\udfff]/.test(text.slice(0, 1)) ? text.slice(1) : text;
}

/** Longer lines are passed on in parts, to bound memory. */
const MAX_LINE = 16_384;

/** Splits a stream into lines without terminators; `end` passes on an unterminated last line. */
export function lineSplitter(onLine: (line: string) => void) {
  let rest = '';
  return {
    add: (text: string): void => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (rest.length > MAX_LINE) {
        onLine(rest);
        rest = '';
      }
    },
    end: (): void => {
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}
