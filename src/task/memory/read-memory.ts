import { join } from 'node:path';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { whatLies } from '../../state/task-folder/run-files.ts';
import { PROGRESS_FILE } from '../settings/defaults.ts';
import { loopDirectory } from '../task-file.ts';

const MAX_BYTES = 4 * 1024 * 1024;

export function readMemory(folder: string): string | null {
  return readPlain(join(folder, PROGRESS_FILE));
}

/** The user's reflection prompt of a loop directory; null if it is empty or absent. */
export function readReflection(projectDir: string, taskPath: string): string | null {
  const path = loopDirectory(projectDir, taskPath)?.reflect;
  const text = path === undefined ? null : readPlain(path);
  return text === null || text.trim() === '' ? null : text;
}

/** null for links, which could show a foreign file in every prompt. */
function readPlain(path: string): string | null {
  try {
    return whatLies(path) === 'file' ? readRegularFile(path, MAX_BYTES) : null;
  } catch {
    return null; // the folder is closed to us: a prompt without it is better than none
  }
}
