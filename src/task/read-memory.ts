import { join } from 'node:path';
import { readRegularFile } from '../state/read-regular-file.ts';
import { whatLies } from '../state/run-files.ts';
import { PROGRESS_FILE } from './task-folder-defaults.ts';

/** What is cut off later has to be read first. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * The agent's own memory in a task folder (absolute); null where there is none, or none that is a plain file: through a
 * link every prompt would show a file that somebody else keeps.
 */
export function readMemory(folder: string): string | null {
  const path = join(folder, PROGRESS_FILE);
  try {
    return whatLies(path) === 'file' ? readRegularFile(path, MAX_BYTES) : null;
  } catch {
    return null; // the folder is closed to us: a prompt without memory is better than none
  }
}
