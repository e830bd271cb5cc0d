import { copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { ifMissing } from '../../state/files/regular-file.ts';
import {
  hasFolder,
  LOOP_CONFIG,
  loopDirectoryName,
  PROJECT_CONFIG,
  RUN_CONFIG,
  taskKind,
  WORKTREES,
} from '../../task/task-file.ts';
import { askGit, changedFiles } from './repository.ts';

/** Settings and signs that apply in addition to the task file. */
const SETTINGS = [PROJECT_CONFIG, '.claude/ralph/guardrails.md', RUN_CONFIG];
/** Files of a task folder that is the whole project. */
const TASK_OWN = ['OPEN_QUESTIONS.md', 'RALPH_PROGRESS.md'];
/** Files of a loop directory; its other files come from earlier runs. */
const LOOP_OWN = [LOOP_CONFIG, 'reflect.md'];

/**
 * Copies task, uncommitted files of its folder and settings, or only those that are not there yet; returns relative paths. Follows
 * no links.
 */
export function copyTask(
  from: string,
  to: string,
  taskPath: string,
  env: NodeJS.ProcessEnv,
  { onlyMissing = false } = {},
): string[] {
  return [...new Set([taskPath, ...ofFolder(from, taskPath, env), ...SETTINGS])]
    .filter((path) => !onlyMissing || !existsSync(join(to, path)))
    .filter((path) => copyChanged(join(from, path), join(to, path), realpathSync(to)));
}

/** Copies ignored files that one of these globs matches; returns relative paths. Follows no links. */
export function copyIgnored(from: string, to: string, globs: readonly string[], env: NodeJS.ProcessEnv): string[] {
  if (globs.length === 0) return [];
  const words = ['--exclude-standard', '--', ...globs.map((glob) => `:(glob)${glob}`)];
  return copyFiles(from, to, ignoredHere(from, words, env));
}

/** File at the root of a repository with patterns, as in `.gitignore`, of ignored files that belong into new worktrees. */
export const INCLUDE_FILE = '.worktreeinclude';

/** Copies the ignored files that the repository's `.worktreeinclude` names, from root to root. Follows no links. */
export function copyIncluded(from: string, to: string, env: NodeJS.ProcessEnv): string[] {
  if (!isPlainFile(join(from, INCLUDE_FILE))) return [];
  const ignored = new Set(ignoredHere(from, ['--exclude-standard'], env));
  const named = ignoredHere(from, [`--exclude-from=${INCLUDE_FILE}`], env).filter((path) => ignored.has(path));
  return copyFiles(from, to, named);
}

function ignoredHere(from: string, words: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const list = ['ls-files', '-z', '--others', '--ignored', ...words];
  return askGit(from, list, env, 'ignored files could not be listed')
    .split('\0')
    .filter((path) => path !== '');
}

function copyFiles(from: string, to: string, paths: readonly string[]): string[] {
  const root = realpathSync(to);
  return paths
    .filter((path) => !`/${path}`.includes(`/${WORKTREES}/`))
    .filter((path) => copyChanged(join(from, path), join(to, path), root));
}

/** Returns whether both are plain files with the same content and the same right to be run. */
export function isSame(one: string, other: string): boolean {
  const runs = (path: string): boolean => (statSync(path).mode & 0o100) !== 0;
  const isEqual = (): boolean => readFileSync(one).equals(readFileSync(other)) && runs(one) === runs(other);
  return ifMissing(() => isPlainFile(one) && isPlainFile(other) && isEqual(), false);
}

function ofFolder(from: string, taskPath: string, env: NodeJS.ProcessEnv): string[] {
  if (!hasFolder(taskKind(taskPath))) return [];
  const folder = dirname(taskPath);
  if (folder === '.') return TASK_OWN;
  if (loopDirectoryName(taskPath) !== null) return LOOP_OWN.map((name) => `${folder}/${name}`);
  return changedFiles(from, env).changed.filter((path) => path.startsWith(`${folder}/`));
}

function copyChanged(from: string, to: string, root: string): boolean {
  if (!isPlainFile(from) || isSame(from, to)) return false;
  mkdirSync(dirname(to), { recursive: true });
  const parent = realpathSync(dirname(to));
  // A committed link must not lead the copy out of the worktree.
  if (parent !== root && !parent.startsWith(root + sep)) return false;
  if (lstatSync(to, { throwIfNoEntry: false })?.isSymbolicLink() === true) return false;
  copyFileSync(from, to);
  return true;
}

function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
