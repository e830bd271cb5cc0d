import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { taskKind } from '../../task/task-file.ts';
import { type ChecklistCount, checklistItems, countChecklist } from '../../text/markdown/checklist.ts';

export interface TaskText {
  readonly body: string;
  readonly frontmatter: string;
}

/** Reads the task file; null if it is missing, empty, unreadable or not a regular file. */
export function readTask(projectDir: string, taskPath: string): TaskText | null {
  const { body, frontmatter } = splitFrontmatter(readRegularFile(join(projectDir, taskPath)) ?? '');
  return body.trim() === '' ? null : { body, frontmatter };
}

export function checklistOf(body: string, taskPath: string): ChecklistCount | null {
  return taskKind(taskPath) === 'checklist' ? countChecklist(checklistItems(body)) : null;
}

/** Size limit: the file is read repeatedly while an agent works. */
const MOST_BYTES = 1024 * 1024;

/** Returns a checklist's progress in the middle of an iteration; null if the file is unreadable or too large. */
export function checklistNow(projectDir: string, taskPath: string): ChecklistCount | null {
  if (taskKind(taskPath) !== 'checklist') return null;
  const found = lstatSync(join(projectDir, taskPath), { throwIfNoEntry: false });
  if (found === undefined || found.size > MOST_BYTES) return null;
  const task = readTask(projectDir, taskPath);
  return task && checklistOf(task.body, taskPath);
}
