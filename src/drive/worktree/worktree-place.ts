import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { WORKTREES } from '../../task/loop-directory.ts';

/** Where the worktree of a loop lies, whether it is there or not. Paths are absolute. */
export interface WorktreePlace {
  readonly name: string;
  readonly branch: string;
  /** The work tree of the whole repository. */
  readonly dir: string;
  /** The project in it: the same folder of the repository that the main project is. */
  readonly projectDir: string;
}

/** The place of the worktree of the loop `name` (a LOOP_NAME). Asks no git, so that `list` costs nothing. */
export function worktreePlace(projectDir: string, name: string): WorktreePlace {
  const dir = join(projectDir, WORKTREES, name);
  return { name, branch: `ralph/${name}`, dir, projectDir: join(dir, prefixOf(projectDir)) };
}

/** The places of all worktrees that lie in a project, by name. */
export function worktreePlaces(projectDir: string): WorktreePlace[] {
  let entries: string[];
  try {
    entries = readdirSync(join(projectDir, WORKTREES));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  return entries
    .filter((name) => LOOP_NAME.test(name) && existsSync(join(projectDir, WORKTREES, name, '.git')))
    .sort()
    .map((name) => worktreePlace(projectDir, name));
}

/**
 * The project that the loop `name` lies in: the given one, unless it knows nothing of such a loop and there is a worktree
 * of that name.
 */
export function projectOfLoop(projectDir: string, name: string | null, env: NodeJS.ProcessEnv): string {
  if (name === null) return projectDir;
  const { state, archiveDir } = loopFiles(projectDir, name, env);
  if (existsSync(state) || existsSync(archiveDir)) return projectDir;
  const place = worktreePlaces(projectDir).find((worktree) => worktree.name === name);
  return place?.projectDir ?? projectDir;
}

/** Which folder of its repository the project is: '' for the repository itself. */
function prefixOf(projectDir: string): string {
  const real = realpathSync(projectDir);
  for (let dir = real; ; dir = dirname(dir)) {
    if (existsSync(join(dir, '.git'))) return relative(dir, real);
    if (dirname(dir) === dir) return '';
  }
}
