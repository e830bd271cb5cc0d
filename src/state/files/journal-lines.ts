import { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { jsonOrNull } from '../../text/json.ts';
import { ifOutOfReach, regularFile, withDescriptor } from './regular-file.ts';

export interface Lines {
  /** Objects of the readable lines, in order. */
  readonly entries: readonly Record<string, unknown>[];
  /** Number of lines that are not JSON objects, such as those torn by a crash. */
  readonly torn: number;
  /** Start of the next read: after the last complete line. */
  readonly next: number;
}

/** Rejects a line before it is parsed. */
type MayBe = (line: string) => boolean;

const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads the complete lines of a JSON-lines file from byte `from` on, at most `budget` bytes. Lines that `mayBe` rejects are not
 * parsed. A file shorter than `from` was replaced and is read from its start. An unreadable file has no lines.
 */
export function readLines(path: string, from = 0, budget = MAX_BYTES, mayBe: MayBe = () => true): Lines {
  let descriptor: number;
  try {
    descriptor = openSync(regularFile(path), 'r');
  } catch (error) {
    return { entries: [], torn: 0, next: (error as NodeJS.ErrnoException).code === 'ENOENT' ? 0 : from };
  }
  try {
    const { size } = fstatSync(descriptor);
    const start = size < from ? 0 : from;
    const bytes = Buffer.allocUnsafe(Math.min(size - start, budget));
    const length = bytes.length === 0 ? 0 : readSync(descriptor, bytes, 0, bytes.length, start);
    const complete = bytes.subarray(0, length).lastIndexOf(0x0a) + 1;
    // A line longer than the whole budget can never be read, so it is skipped.
    const consumed = complete === 0 && length === budget ? length : complete;
    return { ...parse(bytes.toString('utf8', 0, complete), mayBe), next: start + consumed };
  } finally {
    closeSync(descriptor);
  }
}

function parse(text: string, mayBe: MayBe): { entries: Record<string, unknown>[]; torn: number } {
  const entries: Record<string, unknown>[] = [];
  let torn = 0;
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    end = text.indexOf('\n', at);
    if (end === -1) end = text.length;
    const line = text.slice(at, end);
    if ((!line.startsWith('{') && line.trim() === '') || !mayBe(line)) continue;
    const value = jsonOrNull(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      entries.push(value as Record<string, unknown>);
    } else torn += 1;
  }
  return { entries, torn };
}

/** Reads all complete lines from byte `from` on, in chunks of bounded size. */
export function readOn(path: string, from: number, mayBe?: MayBe): Lines {
  const entries: Record<string, unknown>[] = [];
  let torn = 0;
  for (let next = from; ; ) {
    const lines = readLines(path, next, undefined, mayBe);
    for (const entry of lines.entries) entries.push(entry);
    torn += lines.torn;
    if (lines.next === next) return { entries, torn, next };
    next = lines.next;
  }
}

/** Reads a whole journal. A last line without a line end, as a crash leaves it, counts as torn. */
export function readAllLines(path: string, mayBe?: MayBe): Pick<Lines, 'entries' | 'torn'> {
  const { entries, torn, next } = readOn(path, 0, mayBe);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return { entries, torn: torn + (size > next ? 1 : 0) };
}

/** Flags for creating a file or appending to it. Nothing is written through a link, which an agent could make. */
export const APPEND_HERE = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);

/**
 * Appends one JSON line in a single write, so that lines of several processes never mix. Terminates a torn last line first.
 * Throws if the path is a link.
 */
export function appendLine(path: string, entry: object): void {
  withDescriptor(path, APPEND_HERE, 0o600, (descriptor) => {
    const bytes = Buffer.from(`${endsTorn(descriptor) ? '\n' : ''}${JSON.stringify(entry)}\n`);
    const written = writeSync(descriptor, bytes);
    if (written !== bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes could be written to ${path}`);
  });
}

function endsTorn(descriptor: number): boolean {
  const stat = fstatSync(descriptor);
  // Writing to a FIFO blocks once it is full.
  if (!stat.isFile()) throw new Error('it is not a regular file');
  const { size } = stat;
  if (size === 0) return false;
  const last = Buffer.allocUnsafe(1);
  return readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}

const BLOCK = 64 * 1024;

/**
 * Passes a file's last complete lines to `find`, newest first, until it returns anything but false or `budget` bytes were read.
 * Returns what it found; null if nothing. May skip lines that contain none of the texts from `holds`.
 */
export function readTail<T>(
  path: string,
  budget: number,
  find: (line: string) => T | false,
  holds: () => readonly string[] = () => [''],
): T | null {
  const isFile = ifOutOfReach(() => statSync(path, { throwIfNoEntry: false })?.isFile() === true, false);
  const descriptor = isFile ? ifOutOfReach(() => openSync(path, 'r'), null) : null;
  if (descriptor === null) return null;
  try {
    let end = fstatSync(descriptor).size;
    // One buffer for all blocks: touching new pages costs more than reading does.
    let space = Buffer.allocUnsafe(Math.min(end, budget, BLOCK) * 2);
    /** Number of bytes kept of a line whose beginning has not been read yet. */
    let kept = 0;
    for (let left = budget; left > 0 && end > 0; ) {
      const length = Math.min(BLOCK, end, left);
      const larger = length + kept > space.length ? Buffer.allocUnsafe((length + kept) * 2) : space;
      space.copy(larger, length, 0, kept);
      space = larger;
      const got = readSync(descriptor, space, 0, length, end - length);
      if (got !== length) return null; // the file shrank: the data is invalid
      end -= length;
      left -= length;
      const first = space.subarray(0, length).indexOf(0x0a);
      const from = end === 0 ? 0 : first + 1;
      const whole = space.subarray(from, length + kept);
      const isPart = first === -1 && end > 0;
      kept = isPart ? whole.length : from;
      const found = !isPart && holds().some((text) => whole.includes(text)) && findLine(whole, find);
      if (found !== false) return found;
    }
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** Passes lines, last one first, until `find` returns anything but false. Only a newline byte ends a line, not U+2028. */
function findLine<T>(bytes: Buffer, find: (line: string) => T | false): T | false {
  for (let end = bytes.length; end > 0; ) {
    const newline = bytes.lastIndexOf(0x0a, end - 1);
    const found = newline + 1 < end && find(bytes.toString('utf8', newline + 1, end));
    if (found !== false) return found;
    end = newline === -1 ? 0 : newline;
  }
  return false;
}

/** Returns the loop's latest matching record in the last `budget` bytes, or null. `mayBe` rejects lines unparsed. */
export function lastEntry(
  path: string,
  budget: number,
  loopId: string,
  mayBe: MayBe = () => true,
  wanted?: (entry: Record<string, unknown>) => boolean,
): Record<string, unknown> | null {
  return readTail(path, budget, (line) => {
    const entry = mayBe(line) ? (jsonOrNull(line) as Record<string, unknown> | null) : null;
    const isOne = entry?.['loopId'] === loopId && Number.isInteger(entry['iteration']) && wanted?.(entry) !== false;
    return isOne && entry;
  });
}
