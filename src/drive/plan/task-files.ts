import { join } from 'node:path';
import { isSameMark, markFile } from '../../task/progress/marks.ts';
import type { OpenTask } from '../records/open-task-file.ts';

/** Returns marks of the contents of these files. */
export function marksOf(projectDir: string, paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [path, markOf(projectDir, path)]));
}

/** Returns whether a changed file belongs to the task: it was clean when the task began, or has changed since. */
export function isOfTask(projectDir: string, { dirty, dirtyMarks = {} }: OpenTask, path: string): boolean {
  if (!dirty.includes(path)) return true;
  const before = dirtyMarks[path];
  return before !== undefined && !isSameMark(before, markOf(projectDir, path));
}

function markOf(projectDir: string, path: string): string {
  const marked = markFile(join(projectDir, path), { files: 1, bytes: Number.POSITIVE_INFINITY });
  return marked.kind === 'mark' ? marked.mark : marked.kind;
}
