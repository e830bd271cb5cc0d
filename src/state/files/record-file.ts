import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { jsonOrNull } from '../../text/or-else.ts';
import { readRegularFile } from './read-regular-file.ts';
import { writeAtomically } from './write-atomically.ts';

/** More than a prompt with the output of all commands. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Reads a JSON record, whose content the caller checks; null if it is missing, too large, or torn. */
export function readRecord<T>(path: string): Partial<T> | null {
  return jsonOrNull(readRegularFile(path, MOST_BYTES) ?? '') as Partial<T> | null;
}

/** Replaces a JSON record that only the user may read, and creates its folder. Throws system errors. */
export function writeRecord(path: string, record: object): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, `${JSON.stringify(record)}\n`, 0o600);
}
