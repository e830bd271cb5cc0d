import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Contract } from '../engine/schema/contract.ts';
import { ifOutOfReach } from '../state/files/regular-file.ts';
import { configFolder } from '../state/home-folder.ts';
import { LOOP_NAME } from '../state/loop-files.ts';
import { type LoopDirectory, loopDirectoryIn, type RunFiles, runFiles } from '../state/task-folder/run-files.ts';

export type TaskKind = 'prompt' | 'ralph-md' | 'checklist' | 'plan' | 'tdd';

/** Returns whether a loop on this kind of task has its own folder with its run state. */
export function hasFolder(kind: TaskKind): boolean {
  return kind === 'ralph-md' || kind === 'checklist';
}

/** Returns whether this kind of file accepts all keys; plans and scenario lists have their own tasks and checks. */
export function takesTaskKeys(kind: TaskKind): boolean {
  return kind === 'prompt' || hasFolder(kind);
}

export function hasTaskFolder(contract: Pick<Contract, 'task' | 'taskPath'>): boolean {
  return contract.task !== null && hasFolder(taskKind(contract.taskPath));
}

/** Returns the run state of a loop in the folder of its task; null for a task without a folder of its own. */
export function runFilesOf(projectDir: string, contract: Pick<Contract, 'task' | 'taskPath'>): RunFiles | null {
  return hasTaskFolder(contract) ? runFiles(join(projectDir, dirname(contract.taskPath))) : null;
}

/** Returns the kind of a task file by its name; any other name is a prompt. */
export function taskKind(path: string): TaskKind {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  if (name === 'RALPH.md') return 'ralph-md';
  return name === 'task.md' ? 'checklist' : 'prompt';
}

export const RALPH_FILE = 'RALPH.md';
export const CHECKLIST_FILE = 'task.md';

export function taskFileIn(folder: string): string | null {
  return [RALPH_FILE, CHECKLIST_FILE].find((name) => existsSync(join(folder, name))) ?? null;
}

/** Returns the folder that outputs, open questions and `./` commands are relative to: the task's own, or the project. */
export function taskFolder(projectDir: string, taskPath: string): string {
  return join(projectDir, relativeTaskFolder(taskPath));
}

export function relativeTaskFolder(taskPath: string): string {
  return hasFolder(taskKind(taskPath)) ? dirname(taskPath) : '.';
}

export function taskFolderName(projectDir: string, taskPath: string): string {
  return basename(taskFolder(projectDir, taskPath));
}

/** Folder of the loop directories (`.ralph/NAME/task.md`), relative to the project. */
export const LOOP_DIRECTORIES = '.ralph';
/** Settings of all loop directories and of every loop that a runner drives. */
export const RUN_CONFIG = '.ralph/config.json';
export const PROJECT_CONFIG = '.claude/ralph/config.json';
export const LOOP_CONFIG = 'config.json';

/** Returns the files, besides a task's own, from which settings are read. Readers and the guard share this list. */
export function configFiles(
  projectDir: string,
  env: NodeJS.ProcessEnv,
): Readonly<Record<'run config' | 'project config' | 'user config', string>> {
  return {
    'run config': join(projectDir, RUN_CONFIG),
    'project config': join(projectDir, PROJECT_CONFIG),
    'user config': env['RALPH_USER_CONFIG'] || join(configFolder(env), 'ralph-loop', 'config.json'),
  };
}

/** Reserved: no loop directory can have this name. */
export const WORKTREES = `${LOOP_DIRECTORIES}/worktrees`;
/** Folder of reports that are written without a given name. */
export const REPORTS = `${LOOP_DIRECTORIES}/reports`;

/** Returns the main project of a loop's worktree; null for any other project. */
export function mainProjectOf(projectDir: string): string | null {
  const parts = projectDir.replaceAll('\\', '/').split('/');
  const at = parts.lastIndexOf(LOOP_DIRECTORIES);
  const isWorktree = at > 0 && `${parts[at]}/${parts[at + 1]}` === WORKTREES && parts.length > at + 2;
  return isWorktree ? parts.slice(0, at).join('/') : null;
}

const TAKEN = [LOOP_CONFIG, 'worktrees'];

/** Names that Windows reserves or cannot store: a project may move between machines. */
const NO_FOLDER = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|\.$/i;

export function mayName(name: string): boolean {
  return LOOP_NAME.test(name) && !TAKEN.includes(name.toLowerCase()) && !NO_FOLDER.test(name);
}

export function loopDirectoryTask(name: string): string {
  return `${LOOP_DIRECTORIES}/${name}/${CHECKLIST_FILE}`;
}

/** Lists the names of loop directories with their task files, relative to the project. */
export function loopDirectoryTasks(projectDir: string): { readonly name: string; readonly path: string }[] {
  const all = join(projectDir, LOOP_DIRECTORIES);
  return ifOutOfReach(() => readdirSync(all), []).flatMap((name) => {
    const file = mayName(name) ? taskFileIn(join(all, name)) : null;
    return file === null ? [] : [{ name, path: `${LOOP_DIRECTORIES}/${name}/${file}` }];
  });
}

/** Returns the name of the loop directory that contains a task file (relative to the project), or null. */
export function loopDirectoryName(taskPath: string): string | null {
  const [root, name = '', file, ...more] = taskPath.split('/');
  const isOne = root === LOOP_DIRECTORIES && mayName(name) && file === CHECKLIST_FILE && more.length === 0;
  return isOne && `${root}/${name}` !== WORKTREES ? name : null;
}

export function loopDirectory(projectDir: string, taskPath: string): LoopDirectory | null {
  return loopDirectoryName(taskPath) === null ? null : loopDirectoryIn(taskFolder(projectDir, taskPath));
}

/** Returns the files of a task folder and a loop directory that belong to the loop; the checklist is the agent's. */
export function ownFilesOfTask(projectDir: string, taskPath: string): string[] {
  const { dir: _, ...own } = loopDirectory(projectDir, taskPath) ?? {};
  return [join(projectDir, dirname(taskPath), '.ralph-runner'), ...Object.values(own)];
}

export const DEFAULT_TASK = '.claude/ralph/PROMPT.md';

/** Returns the progress file of a plan: `plan.progress.md` beside `plan.md`. */
export function progressPath(planPath: string): string {
  return `${planPath.replace(/\.(?:md|markdown)$/i, '')}.progress.md`;
}

/** Files that loops leave for later ones, relative to the project. */
export const GUARDRAILS = '.claude/ralph/guardrails.md';
export const LEARNINGS = '.claude/context/memory/learnings.md';
export const DECISIONS = '.claude/context/memory/decisions.md';
/** File with the loop's own memory, shown to the agent; never a required output. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';
