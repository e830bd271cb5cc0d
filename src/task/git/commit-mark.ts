import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';

/** Returns size and time of git's log of HEAD, which changes with each commit; '' if there is none. */
export function commitMark(projectDir: string): string {
  const log = statSync(join(gitDir(projectDir), 'logs', 'HEAD'), { throwIfNoEntry: false });
  return log === undefined ? '' : `${log.size}:${log.mtimeMs}`;
}

/** Returns the git folder. In a worktree, `.git` is a file that names it. */
function gitDir(projectDir: string): string {
  const git = join(projectDir, '.git');
  const named = /^gitdir: (.+)$/m.exec(readRegularFile(git, 4096) ?? '')?.[1];
  return named === undefined ? git : resolve(projectDir, named.trim());
}
