import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { jsonOrNull, orElse } from '../../text/or-else.ts';
import { regularFile } from './regular-file.ts';

const BLOCK = 64 * 1024;

/** Passes a file's last complete lines to `stop`, newest first, until it returns true or `budget` bytes were read. */
export function readTail(path: string, budget: number, stop: (line: string) => boolean): void {
  if (!existsSync(path)) return;
  const descriptor = orElse(() => openSync(regularFile(path), 'r'), null);
  if (descriptor === null) return;
  try {
    let end = fstatSync(descriptor).size;
    let rest: Buffer[] = [];
    for (let left = budget; left > 0 && end > 0; ) {
      const length = Math.min(BLOCK, end, left);
      const block = Buffer.allocUnsafe(length);
      const got = readSync(descriptor, block, 0, length, end - length);
      if (got !== length) return; // the file shrank: what was read means nothing
      end -= length;
      left -= length;
      rest = [block, ...rest];
      const first = block.indexOf(0x0a);
      if (first === -1 && end > 0) continue;
      const whole = Buffer.concat(rest);
      const from = end === 0 ? 0 : whole.indexOf(0x0a) + 1;
      if (linesBackwards(whole.subarray(from)).some((line) => stop(line))) return;
      rest = [whole.subarray(0, from)];
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Splits at newline bytes only: U+2028 ends no line in JSON lines. */
function linesBackwards(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let end = bytes.length; end > 0; ) {
    const newline = bytes.lastIndexOf(0x0a, end - 1);
    if (newline + 1 < end) lines.push(bytes.toString('utf8', newline + 1, end));
    end = newline === -1 ? 0 : newline;
  }
  return lines;
}

/**
 * Returns the newest wanted record of an iteration of this loop within the last `budget` bytes; null if there is none.
 * `mayBe` says by the line alone what need not be parsed.
 */
export function lastEntry(
  path: string,
  budget: number,
  loopId: string,
  mayBe: (line: string) => boolean = () => true,
  wanted?: (entry: Record<string, unknown>) => boolean,
): Record<string, unknown> | null {
  let found: Record<string, unknown> | null = null;
  readTail(path, budget, (line) => {
    if (!mayBe(line)) return false;
    const entry = jsonOrNull(line) as Record<string, unknown> | null;
    if (entry?.['loopId'] === loopId && Number.isInteger(entry['iteration']) && wanted?.(entry) !== false)
      found = entry;
    return found !== null;
  });
  return found;
}
