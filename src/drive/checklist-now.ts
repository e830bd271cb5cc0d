import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { type ChecklistCount, checklistItems, countChecklist } from '../core/checklist.ts';
import { taskKind } from '../task/task-kind.ts';
import { readTask } from './turn/read-task.ts';

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
