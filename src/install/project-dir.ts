import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';

export interface ProjectQuestion {
  /** What `--project` says. */
  readonly given: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Whether to look for a project with a loop above the current directory. */
  readonly search: boolean;
}

/** What only a project that this program was set up in has. */
const MARKS = [join('.claude', 'ralph'), join('.claude', 'context', 'runtime')];

/**
 * The project that a command is about, absolute: `--project`, CLAUDE_PROJECT_DIR, the nearest directory upwards that
 * was set up, the current directory. Throws `usage` where `--project` names no directory.
 */
export function projectDirOf({ given, env, cwd, search }: ProjectQuestion): string {
  if (given !== null) {
    const dir = resolve(cwd, given);
    if (isDirectory(dir)) return dir;
    throw new RalphError('usage', `--project ${given}: there is no such directory.`);
  }
  if (env['CLAUDE_PROJECT_DIR'] && isDirectory(env['CLAUDE_PROJECT_DIR'])) return resolve(env['CLAUDE_PROJECT_DIR']);
  return (search ? markedDir(cwd) : null) ?? cwd;
}

function markedDir(from: string): string | null {
  for (let dir = from; ; dir = dirname(dir)) {
    if (MARKS.some((mark) => isDirectory(join(dir, mark)))) return dir;
    if (dirname(dir) === dir) return null;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
