import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRegularFile, regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { findContract, type LoopFiles, loopFiles, readState } from '../../state/loop-files.ts';
import { lastArchived } from '../../state/with-state.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import { readYaml } from '../../task/frontmatter/read-yaml.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { projectPath } from '../../task/project-file.ts';
import { CHECKLIST_FILE, DEFAULT_TASK, RALPH_FILE, taskFileIn } from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import { RalphError } from '../../text/message.ts';
import { START_TEXTS } from '../turn/messages.ts';

/** Task file with its checked frontmatter, read once. */
export interface FoundTask {
  readonly taskPath: string;
  /** Everything before the body. */
  readonly head: string;
  readonly frontmatter: string;
  readonly body: string;
  readonly checked: ReturnType<typeof checkTaskFile>;
}

/** Finds, reads and checks the task file. Throws RalphError `task-missing` or `task-invalid`. */
export function findTask(projectDir: string, task: string | null, isPlan: boolean): FoundTask {
  const taskPath = taskPathOf(projectDir, task);
  const text = readTaskText(projectDir, taskPath);
  const { frontmatter, body } = splitFrontmatter(text);
  const checked = checkTaskFile(taskPath, text, isPlan ? 'plan' : undefined);
  refuseErrors(checked.problems, taskPath);
  return { taskPath, head: text.slice(0, text.length - body.length), frontmatter, body, checked };
}

/** Identifies the settings of a project's task file by the content of its frontmatter; null if there is no file. */
export function markOfSettings(projectDir: string, taskPath: string): string | null {
  const text = readRegularFile(join(projectDir, taskPath));
  return text === null ? null : settingsMark(splitFrontmatter(text).frontmatter);
}

/** Identifies the settings of a task file by the content of its frontmatter, whatever its formatting. */
export function settingsMark(frontmatter: string): string {
  const { value, problems } = readYaml(frontmatter);
  return sha256(problems.length === 0 ? JSON.stringify(value ?? null) : frontmatter.replaceAll('\r\n', '\n'));
}

/** Returns the task file that `task` names, relative to the project, links resolved. Throws `task-missing`. */
export function taskPathOf(projectDir: string, task: string | null): string {
  const named = resolve(projectDir, task ?? DEFAULT_TASK);
  const isFolder = kindOf(named) === 'folder';
  const absolute = isFolder ? join(named, taskFileOf(projectDir, named)) : named;
  const file = basename(absolute);
  const taskPath =
    file === RALPH_FILE || file === CHECKLIST_FILE
      ? projectPath(real(projectDir), real(dirname(absolute)), file)
      : // One of the two may have been named through a symbolic link.
        (projectPath(projectDir, projectDir, absolute) ?? projectPath(real(projectDir), '/', real(absolute)));
  if (taskPath === null) throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  return taskPath;
}

function taskFileOf(projectDir: string, folder: string): string {
  const file = taskFileIn(folder) ?? RALPH_FILE;
  const shown = relative(projectDir, folder) || '.';
  const kind = kindOf(join(folder, file));
  if (kind === null) throw new RalphError('task-missing', START_TEXTS.noTaskFile(shown));
  if (kind === 'folder')
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(join(shown, file), 'it is a folder'));
  return file;
}

function real(path: string): string {
  return kindOf(path) === null ? path : realpathSync(path);
}

function kindOf(path: string): 'folder' | 'file' | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    return found.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(path, `${code}`), error);
  }
}

/** Reads a task file of the project. Throws RalphError `task-missing`. */
export function readTaskFile(projectDir: string, taskPath: string): Buffer {
  try {
    return readFileSync(regularFile(join(projectDir, taskPath), TASK_FILE_BYTES));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(taskPath, code ?? 'not a regular file'), error);
  }
}

function readTaskText(projectDir: string, taskPath: string): string {
  const text = readTaskFile(projectDir, taskPath).toString('utf8');
  if (text.trim() === '') throw new RalphError('task-missing', START_TEXTS.taskEmpty(taskPath));
  return text;
}

/** Throws RalphError `task-invalid` with every error among the problems. */
export function refuseErrors(problems: readonly Problem[], taskPath: string): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const list = errors.map(({ line, message }) => `  ${line !== null && line > 0 ? `line ${line}: ` : ''}${message}`);
  throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, list.join('\n')));
}

/** Maximum length of a base name, which leaves room for a digest: a loop's name has at most 64 characters. */
const MAX_BASE = 50;

/** Returns the name of a task folder's loop: the folder's, with a digest of its path if that name is taken. */
export function taskLoopName(projectDir: string, taskPath: string, env: NodeJS.ProcessEnv): string {
  const mark = digest(taskPath).slice(0, 8);
  const base = fitName(basename(dirname(join(projectDir, taskPath))));
  const marked = base === '' ? `task-${mark}` : `${base}-${mark}`;
  const taskOf = (name: string): string | null => lastTaskOf(loopFiles(projectDir, name, env));
  if (base === '' || taskOf(marked) === taskPath) return marked;
  return [null, taskPath].includes(taskOf(base)) ? base : marked;
}

/** Returns the task of the loop in these files, or of the last archived one; null if there was none. */
export function lastTaskOf(files: LoopFiles): string | null {
  const { kind } = readState(files.state);
  if (kind === 'four-keys') return DEFAULT_TASK;
  const found = kind === 'loop' ? 'absent' : findContract(files);
  return (typeof found === 'string' ? lastLoopIn(files) : found.contract)?.taskPath ?? null;
}

export function lastLoopIn(files: LoopFiles): LoopState | null {
  const current = readState(files.state);
  return current.kind === 'loop' ? current.state : (lastArchived(files)?.state ?? null);
}

/** Returns a folder's name reduced to the characters that LOOP_NAME allows. */
export function fitName(folder: string): string {
  return folder
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-zA-Z0-9._-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, MAX_BASE)
    .replace(/[^a-zA-Z0-9]+$/, '');
}
