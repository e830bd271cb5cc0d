import { dirname, join, resolve } from 'node:path';
import { isFolder } from '../state/files/regular-file.ts';
import { homeFolder } from '../state/home-folder.ts';
import { isWithin, repositoryRoot } from '../task/project-file.ts';
import { LOOP_DIRECTORIES } from '../task/task-file.ts';
import { nullIfRefused, RalphError } from '../text/message.ts';

interface ProjectQuestion {
  readonly given: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** True to search for a project with a loop above the current directory. */
  readonly search: boolean;
}

/** Folders that exist only in a project after `init` or its first loop. */
const MARKS = [join('.claude', 'ralph'), join('.claude', 'context', 'runtime')];

/** Returns the project of a command: `--project`, CLAUDE_PROJECT_DIR, the nearest set-up directory above, or this one. */
export function projectDirOf({ given, env, cwd, search }: ProjectQuestion): string {
  if (given !== null) {
    const dir = resolve(cwd, given);
    if (isFolder(dir)) return dir;
    throw new RalphError('usage', `--project ${given}: no such directory exists.`);
  }
  if (env['CLAUDE_PROJECT_DIR'] && isFolder(env['CLAUDE_PROJECT_DIR'])) return resolve(env['CLAUDE_PROJECT_DIR']);
  return (search ? markedDir(cwd, env) : null) ?? cwd;
}

function markedDir(from: string, env: NodeJS.ProcessEnv): string | null {
  const top = repositoryRoot(from);
  const home = nullIfRefused(() => homeFolder(env));
  for (let dir = from; ; dir = dirname(dir)) {
    // A loop that once ran in the home folder does not make every repository below it a part of that project.
    if (top !== null && top !== dir && dir === home && isWithin(dir, top)) return null;
    // A clone has only the tasks. Outside a repository, a folder of that name may be another program's.
    const hasTasks = top !== null && isWithin(top, dir) && isFolder(join(dir, LOOP_DIRECTORIES));
    if (hasTasks || MARKS.some((mark) => isFolder(join(dir, mark)))) return dir;
    if (dirname(dir) === dir) return null;
  }
}
