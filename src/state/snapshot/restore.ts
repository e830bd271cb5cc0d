import {
  copyFileSync,
  cpSync,
  existsSync,
  fchmodSync,
  futimesSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { evidenceBytes, evidenceJson } from '../evidence/evidence-lost.ts';
import { freePath, removeIfThere, withDescriptor, writeAtomically, writeWhole } from '../files/regular-file.ts';
import { type LoopFiles, log } from '../loop-files.ts';
import { inSafeFolder } from './safe-folder.ts';
import { contentOf, type FileChange, type Snapshot, type Watch } from './snapshot.ts';
import { diskPath, isSameVersion, plainPath, statAt, versionAt } from './version.ts';

/** Write-ahead record of files that are being restored. The next process completes what a killed one began. */
interface RestoreIntent<Cause> {
  readonly loopId: string;
  /** ISO-8601 UTC; unique among the restores of a loop, because only one process restores at a time. */
  readonly id: string;
  readonly changes: readonly FileChange[];
  /** Folder that receives replaced files, relative to the project. */
  readonly archive: string;
  readonly cause: Cause;
}

export interface Restored<Cause> {
  readonly intent: RestoreIntent<Cause>;
  readonly restored: readonly FileChange[];
  /** Changes whose content was not kept, or whose folder is inaccessible. */
  readonly failed: readonly FileChange[];
}

const pathOf = ({ snapshot }: LoopFiles): string => `${snapshot}.restoring`;

/** Restores files. Calls `record` once that is done and before the intent is removed. The caller holds the lock. */
export function restoreFiles<Cause>(
  files: LoopFiles,
  snapshot: Snapshot,
  changes: readonly FileChange[],
  how: { readonly at: string; readonly cause: Cause } & Recorder<Cause>,
): void {
  const { at, cause } = how;
  const archive = join(files.archiveDir, 'replaced', at.replaceAll(':', '-'));
  const { loopId } = snapshot;
  const intent: RestoreIntent<Cause> = { loopId, id: at, changes, archive: freePath(archive), cause };
  writeAtomically(pathOf(files), JSON.stringify(intent), 0o600);
  finishRestore(files, snapshot, how);
}

interface Recorder<Cause> extends Pick<Watch, 'isOutside'> {
  readonly record: (done: Restored<Cause>) => void;
}

/** Completes a restore that a killed process began. The caller holds the lock. */
export function finishRestore<Cause>(
  files: LoopFiles,
  snapshot: Snapshot,
  { isOutside, record }: Recorder<Cause>,
): void {
  const intent = readIntent<Cause>(files);
  if (intent === null) return;
  if (intent.loopId === snapshot.loopId) {
    const changes = intent.changes.filter(({ path }) => !isOutside(path));
    const failed = changes.filter((change) => !settleSafely(files, snapshot, change, intent));
    if (changes.length > 0) record({ intent, failed, restored: changes.filter((change) => !failed.includes(change)) });
  }
  removeIfThere(pathOf(files));
}

function readIntent<Cause>(files: LoopFiles): RestoreIntent<Cause> | null {
  const path = pathOf(files);
  // It was written completely, so its changes must not be dropped.
  return existsSync(path) ? (evidenceJson(path, evidenceBytes(path)) as unknown as RestoreIntent<Cause>) : null;
}

/** Restores one file. A failure, for example on a full disk, must not prevent the restore of others. */
function settleSafely(
  files: LoopFiles,
  snapshot: Snapshot,
  change: FileChange,
  { id, archive }: RestoreIntent<unknown>,
): boolean {
  try {
    return settle(files, snapshot, change, archive);
  } catch (error) {
    log(files, id, 'restore', `${change.path}: ${(error as Error).message}`);
    return false;
  }
}

/** Makes one path match the snapshot. Repeatable. Returns false if that is impossible. */
function settle(files: LoopFiles, snapshot: Snapshot, { path }: FileChange, archive: string): boolean {
  const base = snapshot.files[path] ?? null;
  const isInside = path.startsWith(`${files.projectDir}${sep}`);
  // From here no link is followed: the project, or the root of the file system for own files elsewhere.
  const root = isInside ? files.projectDir : sep;
  const aside = (at: string, shown: string): void => moveAside(at, archivePath(files, archive, shown));
  if (base === null) {
    const done = inSafeFolder(
      root,
      path,
      (at) => {
        const stat = statAt(at);
        // A replaced folder exists again once a file below it was restored.
        const isBack = stat?.isDirectory() === true && snapshot.folders.includes(path);
        if (stat !== null && !isBack) aside(at, path);
        return true;
      },
      null,
    );
    return done ?? true; // its folder no longer exists, nor does the file
  }
  const content = contentOf(files, snapshot, base);
  if (content === null) return false;
  const make = isInside ? { aside: (at: string) => aside(at, path) } : null;
  const put = (at: string): boolean => {
    const now = versionAt(at, undefined, base);
    const draft = `${dirname(at)}${sep}.ralph-restore.tmp`;
    rmSync(draft, { recursive: true, force: true });
    if (isSameVersion(base, now)) return true;
    try {
      if (base.kind === 'link') symlinkSync(content, draft);
      else {
        withDescriptor(draft, 'wx', 0o600, (descriptor) => {
          writeWhole(descriptor, content, draft);
          fchmodSync(descriptor, base.mode);
          futimesSync(descriptor, base.mtimeMs / 1000, base.mtimeMs / 1000);
        });
      }
      if (now !== null) keepReplaced(at, archivePath(files, archive, path), now.kind);
      renameSync(draft, diskPath(at));
    } finally {
      rmSync(draft, { force: true });
    }
    return true;
  };
  return inSafeFolder(root, path, put, make) ?? false;
}

function archivePath({ projectDir }: LoopFiles, archive: string, path: string): string {
  const inside = path.startsWith(`${projectDir}${sep}`);
  const to = plainPath(inside ? join(archive, path.slice(projectDir.length + 1)) : join(archive, 'outside', path));
  mkdirSync(dirname(to), { recursive: true });
  return freePath(to);
}

/** Keeps a file that a rename is about to replace, without a moment in which the path does not exist. */
function keepReplaced(at: string, to: string, kind: 'file' | 'link' | 'other'): void {
  if (kind === 'other') {
    moveAside(at, to);
    return;
  }
  try {
    linkSync(diskPath(at), to);
  } catch {
    // Another file system, or one without links.
    if (kind === 'link') moveAside(at, to);
    else copyFileSync(diskPath(at), to);
  }
}

/** Moves whatever is at a path into the archive, even across file systems. */
function moveAside(at: string, to: string): void {
  try {
    renameSync(diskPath(at), to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    if (code !== 'EXDEV') throw error;
    cpSync(at, to, { recursive: true, verbatimSymlinks: true });
    rmSync(at, { recursive: true, force: true });
  }
}
