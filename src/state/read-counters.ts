import { readFileSync } from 'node:fs';
import shapes from '../../.build/state-shapes.json' with { type: 'json' };
import type { Counters } from '../engine/schema/state.ts';
import { jsonOrNull } from '../text/json.ts';
import { checkShape } from './check-shape.ts';
import { regularFile } from './files/regular-file.ts';
import type { LoopFiles } from './loop-files.ts';

/** Size limit: a larger file is not one of ours. */
const MOST_BYTES = 1024 * 1024;

/** Reads the counters that were kept outside the project; null if they are missing or torn. Throws the system's error. */
export function readCounters({ counters: path }: Pick<LoopFiles, 'counters'>): Counters | null {
  let text: string;
  try {
    text = readFileSync(regularFile(path, MOST_BYTES), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Without a code: a folder, or another kind of file.
    if (code === undefined || code === 'ENOENT' || code === 'ENOTDIR' || code === 'EFBIG' || code === 'ENAMETOOLONG')
      return null;
    throw error;
  }
  const found = jsonOrNull(text);
  return checkShape(found, shapes.counters) === null ? (found as Counters) : null;
}
