import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { type RunFiles, runFiles } from '../../src/state/run-files.ts';
import { projectPath } from '../../src/task/project-file.ts';

/** A task folder of the project. */
export interface TaskPlace {
  /** Absolute, symbolic links resolved. */
  readonly dir: string;
  /** Its RALPH.md, relative to the project, `/` between its parts. The file itself may be gone. */
  readonly taskPath: string;
  readonly run: RunFiles;
}

/**
 * The task folder that a word names: the folder or its RALPH.md, from the current directory. Throws `usage` for what is
 * neither, or lies outside the project.
 */
export function taskPlace(projectDir: string, given: string): TaskPlace {
  const path = resolve(given);
  if (!existsSync(path)) throw new RalphError('usage', `${given}: there is no such task folder.`);
  const isFolder = statSync(path).isDirectory();
  if (!isFolder && basename(path) !== 'RALPH.md') {
    throw new RalphError('usage', `${given} is no RALPH.md. Name a task folder, or the RALPH.md in it.`);
  }
  const dir = realpathSync(isFolder ? path : dirname(path));
  if (!existsSync(join(dir, 'RALPH.md')) && !existsSync(join(dir, '.ralph-runner'))) {
    throw new RalphError('usage', `${given} is no task folder: it has no RALPH.md. main.cjs scaffold NAME makes one.`);
  }
  const root = realpathSync(projectDir);
  const taskPath = projectPath(root, dir, 'RALPH.md');
  if (taskPath === null) throw new RalphError('usage', `${given} lies outside the project ${projectDir}.`);
  return { dir, taskPath, run: runFiles(dir) };
}

/** The one path among a command's words, or null. Throws `usage` for more. */
export function onePath(name: string, positionals: readonly string[]): string | null {
  const [path, ...more] = positionals;
  if (more.length === 0) return path ?? null;
  throw new RalphError('usage', `${name} takes one path, not ${positionals.length}. Quote a path with spaces.`);
}
