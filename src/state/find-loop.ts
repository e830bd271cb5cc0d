import { readFileSync } from 'node:fs';
import shapes from '../../.build/state-shapes.json' with { type: 'json' };
import type { Counters } from '../engine/schema/state.ts';
import { jsonOrNull } from '../text/json.ts';
import { checkShape } from './check-shape.ts';
import { regularFile } from './files/regular-file.ts';
import { findContract, type LoopFiles, readState } from './loop-files.ts';

export type LoopRecords = Readonly<ReturnType<typeof readRecords>>;

/** Reads the records outside the project that show whose a loop is. Throws the system's error for the counters. */
export function readRecords(files: LoopFiles) {
  return { contract: findContract(files), counters: readCounters(files) };
}

export type FoundLoop = Readonly<ReturnType<typeof findLoop>>;

/** Reads without the lock what a hook decides on. A start writes the state last, so it is read first. */
export function findLoop(files: LoopFiles) {
  return { state: readState(files.state), ...readRecords(files) };
}

/** Size limit: a larger file is not one of ours. */
const MOST_BYTES = 1024 * 1024;

/** Reads the counters kept outside the project; null if they are missing or torn. Throws the system's error. */
export function readCounters({ counters: path }: Pick<LoopFiles, 'counters'>): Counters | null {
  let text: string;
  try {
    text = readFileSync(regularFile(path, MOST_BYTES), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // An error without a code: a folder, or another kind of file.
    if (code === undefined || code === 'ENOENT' || code === 'ENOTDIR' || code === 'EFBIG' || code === 'ENAMETOOLONG')
      return null;
    throw error;
  }
  const found = jsonOrNull(text);
  return checkShape(found, shapes.counters) === null ? (found as Counters) : null;
}
