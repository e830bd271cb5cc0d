import { basename, dirname, join } from 'node:path';
import { digest } from '../core/digest.ts';
import type { LoopState } from '../core/schema/state.ts';
import { listArchive } from '../state/archive.ts';
import { type LoopFiles, loopFiles } from '../state/loop-files.ts';
import { readState } from '../state/read-state.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';

/** Room for a digest behind it: a loop's name has at most 64 characters. */
const MAX_BASE = 50;

/**
 * The name of a task folder's loop: that of the folder, made fit, and with a digest of its path behind it where
 * another task's loop has that name already. `taskPath` is the RALPH.md, relative to the project.
 */
export function taskLoopName(projectDir: string, taskPath: string, env: NodeJS.ProcessEnv): string {
  const mark = digest(taskPath).slice(0, 8);
  const base = fitName(basename(dirname(join(projectDir, taskPath))));
  const marked = base === '' ? `task-${mark}` : `${base}-${mark}`;
  const taskOf = (name: string): string | null => lastTaskOf(loopFiles(projectDir, name, env));
  if (base === '' || taskOf(marked) === taskPath) return marked;
  return [null, taskPath].includes(taskOf(base)) ? base : marked;
}

/** The task of the loop that lies in these files, or of the last one archived; null where there was none. */
export function lastTaskOf(files: LoopFiles): string | null {
  return readState(files.state).kind === 'four-keys' ? DEFAULT_TASK : (lastLoopIn(files)?.taskPath ?? null);
}

/** The loop that lies in these files, or the last one archived; null where there was none. */
export function lastLoopIn(files: LoopFiles): LoopState | null {
  const current = readState(files.state);
  if (current.kind === 'loop') return current.state;
  for (const { content } of listArchive(files).reverse()) {
    if (content.kind === 'loop') return content.state;
  }
  return null;
}

/** What LOOP_NAME allows of a folder's name; '' where nothing is left. */
function fitName(folder: string): string {
  return folder
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-zA-Z0-9._-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, MAX_BASE)
    .replace(/[^a-zA-Z0-9]+$/, '');
}
