import { join } from 'node:path';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';
import { pathKind } from '../../state/task-folder/run-files.ts';
import { type SplitText, splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { loopDirectory, PROGRESS_FILE, taskKind } from '../../task/task-file.ts';
import { type ChecklistCount, checklistItems, countChecklist } from '../../text/markdown/lists.ts';

export type TaskText = Pick<SplitText, 'body' | 'bodyLine' | 'frontmatter'>;

/** Reads the task file; null if it is missing, empty, unreadable, larger than `limit` or not a regular file. */
export function readTask(projectDir: string, taskPath: string, limit?: number): TaskText | null {
  const task = splitFrontmatter(readRegularFile(join(projectDir, taskPath), limit) ?? '');
  return task.body.trim() === '' ? null : task;
}

/** Size limit: the file is read repeatedly while an agent works. */
const MOST_BYTES = 1024 * 1024;

/** Returns a checklist's progress in the middle of an iteration; null if the file is unreadable or too large. */
export function checklistNow(projectDir: string, taskPath: string): ChecklistCount | null {
  if (taskKind(taskPath) !== 'checklist') return null;
  const task = readTask(projectDir, taskPath, MOST_BYTES);
  return task && countChecklist(checklistItems(task.body));
}

const MAX_BYTES = 4 * 1024 * 1024;

export function readMemory(folder: string): string | null {
  return readPlain(join(folder, PROGRESS_FILE));
}

/** Returns the user's reflection prompt in a loop directory; null if it is empty or absent. */
export function readReflection(projectDir: string, taskPath: string): string | null {
  const path = loopDirectory(projectDir, taskPath)?.reflect;
  const text = path === undefined ? null : readPlain(path);
  return text === null || text.trim() === '' ? null : text;
}

/** Reads a plain file; null for a link, which could put a foreign file into every prompt. */
function readPlain(path: string): string | null {
  // The folder may be inaccessible: a prompt without it is better than none.
  return ifOutOfReach(() => (pathKind(path) === 'file' ? readRegularFile(path, MAX_BYTES) : null), null);
}
