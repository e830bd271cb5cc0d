const NEWLINE = 0x0a;

export interface ByteLines {
  readonly add: (chunk: Buffer) => void;
  /** The stream is over: true when its last line has no end, and was therefore not given. */
  readonly end: () => boolean;
}

/**
 * Cuts a stream of bytes into lines, without their ends. At most `limit` bytes of a line are held: a longer one is left
 * out whole, and `onTooLong` is told once of each.
 */
export function byteLines(limit: number, onLine: (line: string) => void, onTooLong: () => void): ByteLines {
  let held: Buffer[] = [];
  let size = 0;
  let skipping = false;
  const keep = (part: Buffer): void => {
    if (skipping || part.length === 0) return;
    size += part.length;
    if (size <= limit) {
      held.push(part);
      return;
    }
    skipping = true;
    held = [];
    onTooLong();
  };
  const finish = (): void => {
    const line = held;
    const complete = !skipping && size > 0;
    held = [];
    size = 0;
    skipping = false;
    if (complete) onLine(Buffer.concat(line).toString('utf8'));
  };
  return {
    add: (chunk) => {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    end: () => {
      const torn = size > 0 && !skipping;
      held = [];
      size = 0;
      return torn;
    },
  };
}
