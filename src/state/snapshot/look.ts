import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

/** Files whose stamps a look compares; what is beyond them is examined at the end of a turn and before a verification. */
export const LOOK_FILES = 5000;
/** The same for the folders in which a protected file could appear. */
export const LOOK_FOLDERS = 2000;

const FIGURES = 3;
const OPTIONS = { throwIfNoEntry: false } as const;
/**
 * Paths from which a look turns V8's optimising compiler off: what it does for lstat in a new process takes as long as
 * 5,000 calls. The flag is set back, because V8 rejects a code cache that was written under other flags.
 */
const LONG_LOOK = 1500;

export interface Look {
  readonly paths: readonly string[];
  /** Inode, size and change time of each path; -1 for one that does not exist, NaN for one that has to be examined. */
  readonly stamps: Float64Array;
  /** Number of paths that a look compares; the others are compared at the end of a turn. */
  readonly quick: number;
}

/**
 * Returns whether everything that is watched has the stamp of the last examination; null if nothing is watched. A program
 * can set a file's modification time but not its change time. Runs around every tool call, so it reads one file and
 * calls lstat, and nothing else.
 */
export function looksUnchanged(path: string, which: 'quick' | 'all' = 'quick'): boolean | null {
  const look = readLook(path);
  if (look === null) return null;
  const { paths, stamps, quick } = look;
  const count = which === 'all' ? paths.length : quick;
  const isLong = count >= LONG_LOOK;
  if (isLong) setFlagsFromString('--no-opt');
  try {
    for (let index = 0; index < count; index += 1) {
      const at = index * FIGURES;
      const stat = lstatSync(paths[index] as string, OPTIONS) as Stats | undefined;
      if (stat === undefined) {
        if (stamps[at] !== -1) return false;
      } else if (stat.ctimeMs !== stamps[at + 2] || stat.ino !== stamps[at] || stat.size !== stamps[at + 1])
        return false;
    }
    return true;
  } catch {
    return false; // a way that was closed: the examination says what became of it
  } finally {
    if (isLong) setFlagsFromString('--opt');
  }
}

/** Reads the stamps; null if there are none, or a crash tore them. */
export function readLook(path: string): Look | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const end = bytes.indexOf(0x0a);
  const [count = 0, length = 0, quick = 0] = bytes.toString('latin1', 0, Math.max(0, end)).split(' ').map(Number);
  const from = end + 1 + length;
  if (end === -1 || bytes.length !== from + count * FIGURES * 8) return TORN;
  const text = bytes.toString('utf8', end + 1, from);
  const start = bytes.byteOffset + from;
  const stamps = new Float64Array(bytes.buffer.slice(start, start + count * FIGURES * 8));
  return { paths: count === 0 ? [] : text.split('\0'), stamps, quick };
}

const TORN: Look = { paths: ['/'], stamps: new Float64Array([-1, -1, -1]), quick: 1 };

/** Change times are as coarse as the kernel's clock tick, on some file systems as a second. */
const TICK_MS = 20;
const COARSE_MS = 2100;

/** Returns the figures of a stamp; a file that changed just now could change again unseen, so it has to be examined. */
export function stampOf(stat: Stats | null, now: number): readonly [number, number, number] {
  if (stat === null) return [-1, -1, -1];
  const { ino, size, ctimeMs } = stat;
  const age = now - ctimeMs;
  const isFresh = age < (ctimeMs % 1000 === 0 ? COARSE_MS : TICK_MS);
  return [ino, size, isFresh ? Number.NaN : ctimeMs];
}

export type StampedPath = readonly [path: string, stamp: readonly [number, number, number]];

export function lookBytes(quick: readonly StampedPath[], others: readonly StampedPath[]): Buffer {
  const all = [...quick, ...others];
  const text = Buffer.from(all.map(([path]) => path).join('\0'));
  const stamps = new Float64Array(all.flatMap(([, stamp]) => stamp));
  const head = Buffer.from(`${all.length} ${text.length} ${quick.length}\n`);
  return Buffer.concat([head, text, Buffer.from(stamps.buffer)]);
}
