import { constants, copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import { RalphError } from '../../text/message.ts';
import { freePath, syncDirectory } from '../files/regular-file.ts';
import { hasRunDir, isRealDir, pathKind, type RunFiles } from './run-files.ts';
import { readRunState } from './run-state.ts';

/** Moves a task folder's run state into its archive. Throws `usage` if there is none, `refused` for links. */
export function archiveRun(files: RunFiles, at: string): string {
  if (!hasRunDir(files)) {
    const message = `${files.taskDir} has no run state to archive: no loop has run there since the last time.`;
    throw new RalphError('usage', message);
  }
  if (!isRealDir(files.archiveDir)) mkdirSync(files.archiveDir);
  const path = freePath(join(files.archiveDir, at.replaceAll(':', '-')));
  renameSync(files.dir, path);
  syncDirectory(files.archiveDir);
  syncDirectory(files.taskDir);
  return path;
}

/** Moves the run state of another runner away: a status file that is not ours, or records of which we know none. */
export function putForeignRunAway(files: RunFiles, at: string): void {
  const found = readRunState(files);
  if (found === null) return;
  const isForeign =
    found.status === null && (found.problem !== null || (found.lastIteration === null && found.torn > 0));
  if (isForeign) archiveRun(files, at);
}

/** Copies status, journals and transcripts into an empty folder. Throws `usage` without a run, `refused` if it is not empty. */
export function exportRun(files: RunFiles, dest: string) {
  if (!hasRunDir(files)) {
    const message = `${files.taskDir} has no run state to export: no loop has run there, or its run was put into ${basename(files.archiveDir)}.`;
    throw new RalphError('usage', message);
  }
  refuseTaken(files, dest);
  /** Paths relative to the destination, in order. */
  const exported: string[] = [];
  /** Links, folders and anything else that is not a plain file. */
  const skipped: string[] = [];
  const copy = (from: string, to: string): void => {
    const lies = pathKind(from);
    if (lies === 'file') copyFileSync(from, join(dest, to), constants.COPYFILE_EXCL);
    if (lies !== 'nothing') (lies === 'file' ? exported : skipped).push(to);
  };
  mkdirSync(dest, { recursive: true });
  for (const path of [files.status, files.iterations, files.events]) copy(path, basename(path));
  const transcripts = pathKind(files.transcriptsDir);
  if (transcripts !== 'directory')
    return { exported, skipped: transcripts === 'nothing' ? skipped : [...skipped, 'transcripts'] };
  mkdirSync(join(dest, 'transcripts'));
  for (const name of readdirSync(files.transcriptsDir).sort()) {
    // Other files are drafts of a dead process.
    if (name.endsWith('.md')) copy(join(files.transcriptsDir, name), `transcripts/${name}`);
  }
  return { exported, skipped };
}

function refuseTaken(files: RunFiles, dest: string): void {
  const inside = relative(files.dir, dest);
  if (inside === '' || (!isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`)))
    throw new RalphError('refused', `${dest} is inside the run state itself. Choose another folder: --dest DIR.`);
  const lies = pathKind(dest);
  if (lies === 'nothing') return;
  if (lies === 'directory' && readdirSync(dest).length === 0) return;
  const message = `${dest} already exists, and nothing is overwritten. Choose another folder: --dest DIR.`;
  throw new RalphError('refused', message);
}
