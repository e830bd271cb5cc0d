import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import { hasRunDir, isRealDir, type RunFiles, whatLies } from './run-files.ts';
import { syncDirectory } from './write-atomically.ts';

/**
 * Moves the run state of a task folder, whole, into its archive under the instant `at`, and gives back where it went.
 * Throws `usage` where there is none, and `refused` where it or the archive is a link: nothing leaves the folder.
 */
export function archiveRun(files: RunFiles, at: string): string {
  if (!hasRunDir(files)) {
    throw new RalphError(
      'usage',
      `${files.taskDir} has no run state to archive: no loop has run there since the last time.`,
    );
  }
  if (!isRealDir(files.archiveDir)) mkdirSync(files.archiveDir);
  for (let copy = 1; ; copy++) {
    const path = join(files.archiveDir, `${at.replaceAll(':', '-')}${copy === 1 ? '' : `.${copy}`}`);
    if (whatLies(path) !== 'nothing') continue;
    renameSync(files.dir, path);
    syncDirectory(files.archiveDir);
    syncDirectory(files.taskDir);
    return path;
  }
}
