import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { digest } from '../../text/digest.ts';
import { evidenceBytes, evidenceLost } from '../evidence/evidence.ts';
import { realPathOf, regularFile } from '../files/regular-file.ts';
import { runningBundle } from '../process/program.ts';

/** Number of files whose stamps a look compares; the rest wait for the end of a turn or a verification. */
export const LOOK_FILES = 5000;
/** Number of folders compared by a look, in which a protected file could appear. */
export const LOOK_FOLDERS = 2000;

const FIGURES = 3;
const OPTIONS = { throwIfNoEntry: false } as const;
/**
 * Number of paths from which a look turns off V8's optimising compiler: in a new process, optimising lstat takes as long as
 * 5,000 calls. The flag is restored, because V8 rejects a code cache written under other flags.
 */
const LONG_LOOK = 1500;

interface Look {
  readonly paths: readonly string[];
  /** Inode, size and change time of each path; -1 if it does not exist, NaN if it has to be examined. */
  readonly stamps: Float64Array;
  /** Number of paths that a look compares; the rest are compared at the end of a turn. */
  readonly quick: number;
  /** Digest stored in the file, and that of its actual content. */
  readonly digests: () => readonly [stored: string, found: string];
}

/**
 * Returns whether all watched files have the stamps of the last examination and include this program's own file; null if
 * nothing is watched. A program can set a file's modification time but not its change time. Runs around every tool call, so it
 * reads one file, calls lstat for each watched one, and looks for the running build.
 */
export function looksUnchanged(path: string, which: 'quick' | 'all' = 'quick'): boolean | null {
  const look = readLook(path);
  if (look === null) return null;
  const { paths, stamps, quick } = look;
  if (!isOf(path, look) || !watchesThisProgram(paths)) return false;
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
    return false; // inaccessible: the examination finds out why
  } finally {
    if (isLong) setFlagsFromString('--opt');
  }
}

/** Returns whether the stamps belong to this loop: the second one is that of the snapshot beside them. */
function isOf(path: string, { paths }: Look): boolean {
  return paths[1] === path.replace(/look$/, 'json');
}

/** Returns whether the running build is watched: an update moves it to another folder during a loop. */
function watchesThisProgram(paths: readonly string[]): boolean {
  if (runningBundle() === null) return true;
  const script = process.argv[1] ?? '';
  return paths.includes(script) || paths.includes(realPathOf(script) ?? '');
}

/** Reads the stamps; null if missing. Anything but a readable file counts as torn: reading a pipe would never end. */
export function readLook(path: string): Look | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(regularFile(path));
  } catch (error) {
    const { code = 'no file' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (['no file', 'ELOOP', 'EACCES'].includes(code)) return TORN;
    throw error;
  }
  const end = bytes.indexOf(0x0a);
  const [figures, stored = ''] = bytes.subarray(0, Math.max(0, end)).toString().split('; ');
  const [count = 0, length = 0, quick = 0] = (figures ?? '').split(' ').map(Number);
  const from = end + 1 + length;
  if (end === -1 || bytes.length !== from + count * FIGURES * 8) return TORN;
  const text = bytes.subarray(end + 1, from).toString();
  const start = bytes.byteOffset + from;
  const stamps = new Float64Array(bytes.buffer.slice(start, start + count * FIGURES * 8));
  const digests = (): readonly [string, string] => [stored, digestOf(bytes.subarray(end + 1))];
  return { paths: count === 0 ? [] : text.split('\0'), stamps, quick, digests };
}

const TORN: Look = { paths: ['/'], stamps: new Float64Array([-1, -1, -1]), quick: 1, digests: () => ['torn', ''] };

/** Throws `evidence-lost` unless the stamps are as this program wrote them. */
export function proveLook(path: string): void {
  const look = readLook(path);
  if (look === null) throw evidenceLost(path, 'missing');
  if (look === TORN) {
    evidenceBytes(path);
    throw evidenceLost(path, 'torn');
  }
  const [stored, found] = look.digests();
  if (!isOf(path, look)) throw evidenceLost(path, 'foreign');
  if (stored !== found) throw evidenceLost(path, 'edited');
}

function digestOf(bytes: Buffer): string {
  return digest(bytes.toString('latin1'));
}

/** Precision of change times: the kernel's clock tick; on some file systems a second. */
const TICK_MS = 20;
const COARSE_MS = 2100;

/** Returns the figures of a stamp. A file that has just changed could change again unnoticed, so it has to be examined. */
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
  const body = Buffer.concat([text, Buffer.from(stamps.buffer)]);
  return Buffer.concat([Buffer.from(`${all.length} ${text.length} ${quick.length}; ${digestOf(body)}\n`), body]);
}
