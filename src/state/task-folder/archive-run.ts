import { constants, copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import { RalphError } from '../../text/ralph-error.ts';
import { syncDirectory } from '../files/write-atomically.ts';
import { hasRunDir, isRealDir, type RunFiles, whatLies } from './run-files.ts';

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

export interface ExportedRun {
  /** Relative to the destination, in order. */
  readonly exported: readonly string[];
  /** What lay there and stayed: links, folders and whatever else is no plain file. */
  readonly skipped: readonly string[];
}

/**
 * Copies status, journals and transcripts of a task folder's run into `dest`, which is made, or is an empty folder.
 * Flags, signs of life and links never leave, and nothing is overwritten. Throws `usage` where there is nothing to
 * export, `refused` for a destination that is taken.
 */
export function exportRun(files: RunFiles, dest: string): ExportedRun {
  if (!hasRunDir(files)) {
    throw new RalphError(
      'usage',
      `${files.taskDir} has no run state to export: no loop has run there, or its run was put into ${basename(files.archiveDir)}.`,
    );
  }
  refuseTaken(files, dest);
  const exported: string[] = [];
  const skipped: string[] = [];
  const copy = (from: string, to: string): void => {
    const lies = whatLies(from);
    if (lies === 'nothing') return;
    if (lies !== 'file') {
      skipped.push(to);
      return;
    }
    copyFileSync(from, join(dest, to), constants.COPYFILE_EXCL);
    exported.push(to);
  };
  mkdirSync(dest, { recursive: true });
  for (const path of [files.status, files.iterations, files.events]) copy(path, basename(path));
  const transcripts = whatLies(files.transcriptsDir);
  if (transcripts !== 'directory')
    return { exported, skipped: transcripts === 'nothing' ? skipped : [...skipped, 'transcripts'] };
  mkdirSync(join(dest, 'transcripts'));
  for (const name of readdirSync(files.transcriptsDir).sort()) {
    // Others are drafts of a process that died.
    if (name.endsWith('.md')) copy(join(files.transcriptsDir, name), `transcripts/${name}`);
  }
  return { exported, skipped };
}

function refuseTaken(files: RunFiles, dest: string): void {
  const inside = relative(files.dir, dest);
  if (inside === '' || (!isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`))) {
    throw new RalphError('refused', `${dest} lies within the run state itself. Choose another place: --dest DIR.`);
  }
  const lies = whatLies(dest);
  if (lies === 'nothing') return;
  if (lies === 'directory' && readdirSync(dest).length === 0) return;
  throw new RalphError(
    'refused',
    `${dest} is there already, and nothing is overwritten. Choose another place: --dest DIR.`,
  );
}
