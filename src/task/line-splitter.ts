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
