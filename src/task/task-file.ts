import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Contract } from '../engine/schema/contract.ts';
import { LOOP_NAME } from '../state/loop-files.ts';
import { type LoopDirectory, loopDirectoryIn } from '../state/task-folder/loop-directory.ts';

/** The kinds of task a loop can have. A plan and a TDD loop have files of their own. */
export type TaskKind = 'prompt' | 'ralph-md' | 'checklist' | 'plan' | 'tdd';

/** Returns whether a loop on this kind of task has a folder of its own, with its run state. */
export function hasFolder(kind: TaskKind): boolean {
  return kind === 'ralph-md' || kind === 'checklist';
}

/** Returns whether this kind of file takes all keys: plans and lists of scenarios have tasks and checks of their own. */
export function takesTaskKeys(kind: TaskKind): boolean {
  return kind === 'prompt' || hasFolder(kind);
}

/** Returns whether a started loop has a folder of its own. */
export function hasTaskFolder(contract: Pick<Contract, 'task' | 'taskPath'>): boolean {
  return contract.task !== null && hasFolder(taskKind(contract.taskPath));
}

/** What a task file is, by its name: RALPH.md, task.md (a checklist), and every other file is a prompt. */
export function taskKind(path: string): TaskKind {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  if (name === 'RALPH.md') return 'ralph-md';
  return name === 'task.md' ? 'checklist' : 'prompt';
}

/** The names of the files that make a folder a task folder: its prompt, or a checklist that the agent keeps. */
export const RALPH_FILE = 'RALPH.md';
export const CHECKLIST_FILE = 'task.md';

/** The task file of a folder, by name; null where it holds none. */
export function taskFileIn(folder: string): string | null {
  return [RALPH_FILE, CHECKLIST_FILE].find((name) => existsSync(join(folder, name))) ?? null;
}

/**
 * Absolute path of the folder that the outputs, open questions and `./` commands of a task are relative to: its own, or
 * the project's for a prompt file. `taskPath` is relative to the project.
 */
export function taskFolder(projectDir: string, taskPath: string): string {
  return join(projectDir, relativeTaskFolder(taskPath));
}

/** The same folder relative to the project; `.` for the project itself. */
export function relativeTaskFolder(taskPath: string): string {
  return hasFolder(taskKind(taskPath)) ? dirname(taskPath) : '.';
}

/** What `{{ ralph.name }}` stands for: the folder's own name. */
export function taskFolderName(projectDir: string, taskPath: string): string {
  return basename(taskFolder(projectDir, taskPath));
}

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

/** The task file of a loop that names none, relative to the project. */
export const DEFAULT_TASK = '.claude/ralph/PROMPT.md';

/** The progress file of a plan lies beside it: `plan.md` has `plan.progress.md`. */
export function progressPath(planPath: string): string {
  return `${planPath.replace(/\.(?:md|markdown)$/i, '')}.progress.md`;
}
