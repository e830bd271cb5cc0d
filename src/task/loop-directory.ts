import { join } from 'node:path';
import { LOOP_NAME } from '../state/loop-files.ts';
import { CHECKLIST_FILE, taskFolder } from './task-folder.ts';

/** Where loop directories lie, relative to the project: `.ralph/NAME/task.md` and what belongs to that loop. */
export const LOOP_DIRECTORIES = '.ralph';
/** Settings of all loops there, and of every loop that a runner drives. Relative to the project. */
export const RUN_CONFIG = '.ralph/config.json';

/** Where the worktrees of loops lie, relative to the project: no loop directory can have that name. */
export const WORKTREES = `${LOOP_DIRECTORIES}/worktrees`;

/** The task file of the loop directory of this name, relative to the project. */
export function loopDirectoryTask(name: string): string {
  return `${LOOP_DIRECTORIES}/${name}/${CHECKLIST_FILE}`;
}

/** The name of the loop directory that a task file lies in, or null for every other. `taskPath` is relative to the project. */
export function loopDirectoryName(taskPath: string): string | null {
  const [root, name = '', file, ...more] = taskPath.split('/');
  const isOne = root === LOOP_DIRECTORIES && LOOP_NAME.test(name) && file === CHECKLIST_FILE && more.length === 0;
  return isOne && `${root}/${name}` !== WORKTREES ? name : null;
}

/** What belongs to a loop beside its task file, in its directory. Absolute. */
export interface LoopDirectory {
  readonly dir: string;
  /** Settings of this loop. */
  readonly config: string;
  /** What the agent is asked to reflect on, in place of the default. */
  readonly reflect: string;
  /** What the loop shows of itself: its state, its events, and one file for each iteration. */
  readonly state: string;
  readonly events: string;
  readonly iterationsDir: string;
  /** Where what an earlier run showed is put. */
  readonly runsDir: string;
}

/** The loop directory of a task file; null for a task that lies elsewhere. Touches nothing. */
export function loopDirectory(projectDir: string, taskPath: string): LoopDirectory | null {
  if (loopDirectoryName(taskPath) === null) return null;
  const dir = taskFolder(projectDir, taskPath);
  return {
    dir,
    config: join(dir, 'config.json'),
    reflect: join(dir, 'reflect.md'),
    state: join(dir, 'state.json'),
    events: join(dir, 'events.jsonl'),
    iterationsDir: join(dir, 'iterations'),
    runsDir: join(dir, 'runs'),
  };
}
