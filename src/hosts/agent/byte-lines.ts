const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines. Drops a line over `limit` bytes and calls `onTooLong` once for it. */
export function byteLines(limit: number, onLine: (line: string) => void, onTooLong: () => void) {
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
    add: (chunk: Buffer): void => {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    /** Ends the stream; returns true if its last line was unterminated and therefore not passed on. */
    end: (): boolean => {
      const torn = size > 0 && !skipping;
      held = [];
      size = 0;
      return torn;
    },
  };
}
