import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regularFile } from '../../state/files/read-regular-file.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { taskKind } from '../../task/task-file.ts';
import { type ChecklistCount, checklistItems, countChecklist } from '../../text/markdown/checklist.ts';

export interface TaskText {
  readonly body: string;
  readonly frontmatter: string;
}

/** The task file as it stands now, or null when it is missing, empty, unreadable or no file. */
export function readTask(projectDir: string, taskPath: string): TaskText | null {
  let text: string;
  try {
    text = readFileSync(regularFile(join(projectDir, taskPath)), 'utf8');
  } catch {
    return null;
  }
  const { body, frontmatter } = splitFrontmatter(text);
  return body.trim() === '' ? null : { body, frontmatter };
}

/** How far a task's text says that its checklist has come; null for a task that is none. */
export function checklistOf(body: string, taskPath: string): ChecklistCount | null {
  return taskKind(taskPath) === 'checklist' ? countChecklist(checklistItems(body)) : null;
}

/** It is read again and again while an agent works. */
const MOST_BYTES = 1024 * 1024;

/** The same of the file as it is now, in the middle of an iteration too; null where it cannot be read, or is too large. */
export function checklistNow(projectDir: string, taskPath: string): ChecklistCount | null {
  if (taskKind(taskPath) !== 'checklist') return null;
  const found = lstatSync(join(projectDir, taskPath), { throwIfNoEntry: false });
  if (found === undefined || found.size > MOST_BYTES) return null;
  const task = readTask(projectDir, taskPath);
  return task && checklistOf(task.body, taskPath);
}
