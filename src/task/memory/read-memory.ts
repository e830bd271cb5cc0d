import { join } from 'node:path';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { whatLies } from '../../state/task-folder/run-files.ts';
import { PROGRESS_FILE } from '../settings/defaults.ts';
import { loopDirectory } from '../task-file.ts';

/** What is cut off later has to be read first. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The agent's own memory in a task folder (absolute); null where there is none. */
export function readMemory(folder: string): string | null {
  return readPlain(join(folder, PROGRESS_FILE));
}

/** What the user wants the agent of a loop directory to reflect on; null where they say nothing. */
export function readReflection(projectDir: string, taskPath: string): string | null {
  const path = loopDirectory(projectDir, taskPath)?.reflect;
  const text = path === undefined ? null : readPlain(path);
  return text === null || text.trim() === '' ? null : text;
}

/** null for what is no plain file, too: through a link every prompt would show a file that somebody else keeps. */
function readPlain(path: string): string | null {
  try {
    return whatLies(path) === 'file' ? readRegularFile(path, MAX_BYTES) : null;
  } catch {
    return null; // the folder is closed to us: a prompt without it is better than none
  }
}
