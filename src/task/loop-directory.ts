import { type LoopDirectory, loopDirectoryIn } from '../state/loop-directory.ts';
import { LOOP_NAME } from '../state/loop-files.ts';
import { CHECKLIST_FILE, taskFolder } from './task-folder.ts';

/** Where loop directories lie, relative to the project: `.ralph/NAME/task.md` and what belongs to that loop. */
export const LOOP_DIRECTORIES = '.ralph';
/** Settings of all loops there, and of every loop that a runner drives. Relative to the project. */
export const RUN_CONFIG = '.ralph/config.json';

/** Where the worktrees of loops lie, relative to the project: no loop directory can have that name. */
export const WORKTREES = `${LOOP_DIRECTORIES}/worktrees`;

/** The project that a worktree of one of its loops lies in; null for every other project. */
export function mainProjectOf(projectDir: string): string | null {
  const parts = projectDir.replaceAll('\\', '/').split('/');
  const at = parts.lastIndexOf(LOOP_DIRECTORIES);
  const isWorktree = at > 0 && `${parts[at]}/${parts[at + 1]}` === WORKTREES && parts.length > at + 2;
  return isWorktree ? parts.slice(0, at).join('/') : null;
}

/** What lies beside the loop directories. */
const TAKEN = ['config.json', 'worktrees'];

/** What Windows takes for a device or cannot keep as a folder: a project moves between machines. */
const NO_FOLDER = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|\.$/i;

/** Whether a loop directory can have this name. */
export function mayName(name: string): boolean {
  return LOOP_NAME.test(name) && !TAKEN.includes(name.toLowerCase()) && !NO_FOLDER.test(name);
}

/** The task file of the loop directory of this name, relative to the project. */
export function loopDirectoryTask(name: string): string {
  return `${LOOP_DIRECTORIES}/${name}/${CHECKLIST_FILE}`;
}

/** The name of the loop directory that a task file lies in, or null for every other. `taskPath` is relative to the project. */
export function loopDirectoryName(taskPath: string): string | null {
  const [root, name = '', file, ...more] = taskPath.split('/');
  const isOne = root === LOOP_DIRECTORIES && mayName(name) && file === CHECKLIST_FILE && more.length === 0;
  return isOne && `${root}/${name}` !== WORKTREES ? name : null;
}

/** The loop directory of a task file; null for a task that lies elsewhere. Touches nothing. */
export function loopDirectory(projectDir: string, taskPath: string): LoopDirectory | null {
  return loopDirectoryName(taskPath) === null ? null : loopDirectoryIn(taskFolder(projectDir, taskPath));
}
