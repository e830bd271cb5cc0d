import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  fchmodSync,
  futimesSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { evidenceBytes, evidenceJson } from '../evidence/evidence.ts';
import { freePath, removeIfThere, withDescriptor, writeAtomically, writeWhole } from '../files/regular-file.ts';
import { type LoopFiles, log } from '../loop-files.ts';
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
  /** Changes that could not be undone: the content was not kept, or the folder is inaccessible. */
  readonly failed: readonly FileChange[];
}

const pathOf = ({ snapshot }: LoopFiles): string => `${snapshot}.restoring`;

/** Restores files. Calls `record` after that, before the intent is removed. The caller holds the lock. */
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

/** Makes one path match the snapshot. Idempotent. Returns false if that is impossible. */
function settle(files: LoopFiles, snapshot: Snapshot, { path }: FileChange, archive: string): boolean {
  const base = snapshot.files[path] ?? null;
  const isInside = path.startsWith(`${files.projectDir}${sep}`);
  // No link is followed below it: the project or, for own files elsewhere, the root of the file system.
  const root = isInside ? files.projectDir : sep;
  const aside = (at: string, shown: string): void => moveAside(at, archivePath(files, archive, shown));
  if (base === null) {
    const done = inSafeFolder(
      root,
      path,
      (at) => {
        const stat = statAt(at);
        // A replaced folder exists again once a file below it has been restored.
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

/** Keeps a file that a rename is about to replace; its path exists at every moment. */
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

/** Folder in which Linux lists open folders by descriptor, whatever happens to their paths. */
const DESCRIPTORS = '/proc/self/fd';

/**
 * Runs `work` with a path to the file whose folders are reached from `root` without following links, and returns its result;
 * null if a folder cannot be reached. With `make`, missing folders are created, and anything in the place of one is passed
 * to `aside`. On Linux, replacing a folder meanwhile has no effect: every step is relative to an open folder.
 */
function inSafeFolder<T>(
  root: string,
  path: string,
  work: (at: string) => T,
  make: { readonly aside: (at: string) => void } | null,
): T | null {
  const segments = path.slice(root === sep ? 1 : root.length + 1).split(sep);
  const name = segments.pop() ?? '';
  const descriptors: number[] = [];
  let folder = realpathSync(root);
  try {
    for (const segment of ['', ...segments]) {
      const next = segment === '' ? folder : `${folder}${sep}${segment}`;
      if (statAt(next)?.isDirectory() !== true) {
        if (make === null || segment === '') return null;
        if (statAt(next) !== null) make.aside(next);
        mkdirSync(diskPath(next));
      }
      const descriptor = openFolder(next);
      if (descriptor === null) return null;
      descriptors.push(descriptor);
      folder = hasDescriptors() ? `${DESCRIPTORS}/${descriptor}` : next;
    }
    return inOpenFolder(folder, () => work(`${folder}${sep}${name}`));
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** Runs `work`; temporarily opens a folder that its owner cannot write to. */
function inOpenFolder<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const mode = statAt(`${folder}${sep}.`)?.mode;
    if ((error as NodeJS.ErrnoException).code !== 'EACCES' || mode === undefined || (mode & 0o200) !== 0) throw error;
    chmodSync(`${folder}${sep}.`, (mode & 0o7777) | 0o700);
    try {
      return work();
    } finally {
      chmodSync(`${folder}${sep}.`, mode & 0o7777);
    }
  }
}

/** Opens a folder that is not a link, temporarily accessible if its owner made it inaccessible. Returns null if that fails. */
function openFolder(path: string): number | null {
  const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
  for (const attempt of [1, 2]) {
    try {
      return openSync(diskPath(path), flags);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EACCES' && attempt === 1) openToOwner(path);
      else if (code === 'EACCES' || code === 'ELOOP' || code === 'ENOTDIR' || code === 'ENOENT') return null;
      else throw error;
    }
  }
  return null;
}

function openToOwner(path: string): void {
  const mode = statAt(path)?.mode;
  if (mode === undefined) return;
  try {
    chmodSync(diskPath(path), (mode & 0o7777) | 0o700);
  } catch {
    // Another user's folder: the second attempt to open it fails.
  }
}

let known: boolean | null = null;

function hasDescriptors(): boolean {
  known ??= process.platform === 'linux' && existsSync(DESCRIPTORS);
  return known;
}
