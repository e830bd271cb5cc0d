export interface BoundedOutput {
  readonly add: (text: string, bytes: number) => void;
  /** What was added, trimmed; of more than the limit the first 70 % and the end, with a mark between them. */
  readonly text: () => string;
}

/** What fits into a prompt. */
export const OUTPUT_LIMIT = 12_000;

/** Keeps the head and the tail of an output of any length in bounded memory. */
export function boundedOutput(limit = OUTPUT_LIMIT): BoundedOutput {
  const headSize = Math.floor(limit * 0.7);
  let head = '';
  let tail = '';
  let bytes = 0;
  let characters = 0;
  return {
    add: (text, size) => {
      bytes += size;
      characters += text.length;
      const room = Math.max(0, headSize - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      // Cut rarely: a slice for each little chunk would copy the tail again and again.
      if (tail.length > limit * 2) tail = tail.slice(-limit);
    },
    text: () => {
      if (characters <= limit) return (head + tail).trim();
      const mark = `\n[… ${bytes} bytes in all, the middle left out …]\n`;
      const end = tail.slice(-Math.max(0, limit - headSize - mark.length));
      return `${withoutHalf(head, 'end')}${mark}${withoutHalf(end, 'start')}`.trim();
    },
  };
}

/** A cut through a surrogate pair leaves half a character, which is none. */
function withoutHalf(text: string, side: 'start' | 'end'): string {
  if (side === 'end') return /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(0, -1) : text;
  return /^[\udc00-\udfff]/.test(text.slice(0, 1)) ? text.slice(1) : text;
}
