import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { EvidenceOf } from '../evidence/evidence.ts';
import { EVIDENCE, evidenceLost, proveContract, readEvidenceRecord } from '../evidence/evidence.ts';
import { storeEvidence } from '../evidence/store-evidence.ts';
import {
  ifOutOfReach,
  namesIn,
  realPathOf,
  removeIfThere,
  uniqueToken,
  withDescriptor,
  writeAtomically,
  writeWhole,
} from '../files/regular-file.ts';
import { sha256 } from '../hash-contract.ts';
import { withLock } from '../lock/lock.ts';
import type { LoopFiles } from '../loop-files.ts';
import { runningBundle } from '../process/program.ts';
import { type FileSet, listFiles, MOST_ENTRIES } from './list-files.ts';
import { LOOK_FILES, LOOK_FOLDERS, lookBytes, proveLook, readLook, type StampedPath, stampOf } from './look.ts';
import { isPlaceholder, statAt, type Version, versionAt } from './version.ts';

const VERSION = 1;

/** Maximum number of files whose content is kept; bytes are limited as well. Beyond it, only hashes are kept. */
const KEPT_FILES = 5000;
const KEPT_BYTES = 64 * 1024 * 1024;
/** Maximum number of watched files. */
const MOST_FILES = 50_000;

/** Version with the position of its content in the pack; null if that was not kept. */
type KeptVersion = Version & { readonly offset: number | null };

/** Protected files as a set, and the loop's own files as single paths. */
export interface Watch {
  readonly own: readonly string[];
  readonly protect: FileSet;
  /** Returns whether a file is the user's own: its changes are reported, but nothing writes, moves or deletes it. */
  readonly isOutside: (path: string) => boolean;
  /** Returns whether the content of a file is kept; otherwise only its hash is. */
  readonly isKept: (path: string) => boolean;
}

export interface Snapshot {
  readonly version: typeof VERSION;
  readonly loopId: string;
  /** Name of the file with the contents, beside this one. */
  readonly pack: string;
  /** Version to restore, by absolute path; null for a file that must not exist. */
  readonly files: Readonly<Record<string, KeptVersion | null>>;
  readonly folders: readonly string[];
  /** Those of `files` that are own files. */
  readonly own: readonly string[];
  /** Later changes by the user, which were kept. */
  readonly left: readonly FileChange[];
  /** Paths that could not be restored: their content is not a change by the user. */
  readonly failed?: readonly string[];
}

/** Difference between the snapshot and the disk. */
export interface FileChange {
  readonly path: string;
  readonly was: 'changed' | 'deleted' | 'new';
}

const WAIT_MS = 20_000;

/** Runs `work` exclusively among all processes that restore files of this loop. */
export function withSnapshotLock<T>(files: LoopFiles, work: () => T): T {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  return withLock(`${files.snapshot}.lock`, work, WAIT_MS);
}

export const lookPath = ({ snapshot }: LoopFiles): string => `${snapshot}.look`;
const packPath = ({ outsideDir }: LoopFiles, { pack }: Snapshot): string => join(outsideDir, pack);

/**
 * Takes a snapshot of the current version of every watched file and replaces the former one. The caller holds the lock.
 * Records a placeholder of the client's sandbox as a missing file. Returns figures for the warning at the start; null if all
 * contents are kept.
 */
export function takeSnapshot(files: LoopFiles, loopId: string, watch: Watch, placeholders?: ReadonlySet<string>) {
  const pack = packPrefix(files.snapshot) + uniqueToken();
  const listed = listFiles(watch.protect, undefined, MOST_ENTRIES);
  const paths = [...new Set([...watch.own, ...listed.files])];
  const writer = newPack(join(files.outsideDir, pack));
  const kept: Record<string, KeptVersion | null> = {};
  let unkept = 0;
  try {
    for (const path of paths.slice(0, MOST_FILES)) {
      const isKept = watch.isKept(path);
      const version = isKept ? writer.add(path) : hashOf(path);
      if (version?.kind === 'other') continue; // for example a folder or a socket, which has no content
      kept[path] = placeholders?.has(path) === true && isPlaceholder(version) ? null : version;
      if (isKept && version?.offset === null) unkept += 1;
    }
  } finally {
    writer.close();
  }
  const watched = { files: kept, folders: listed.folders, own: watch.own, left: [] };
  const snapshot: Snapshot = { version: VERSION, loopId, pack, ...watched };
  storeSnapshot(files, snapshot);
  storeLook(files, snapshot);
  removePacks(files, pack);
  const unwatched = listed.cut || paths.length > MOST_FILES;
  return unkept > 0 || unwatched ? { unkept, unwatched } : null;
}

function hashOf(path: string): KeptVersion | null {
  const version = versionAt(path);
  return version && { ...version, offset: null };
}

/** Reads the snapshot of a loop; null if its contract lists none. Throws `evidence-lost`. */
export function readSnapshot(files: LoopFiles, contract: EvidenceOf): Snapshot | null {
  const found = readEvidenceRecord<Snapshot>(files, contract, 'snapshot');
  if (found === null) return null;
  const path = EVIDENCE.snapshot(files);
  if (found.version !== VERSION || typeof found.files !== 'object') throw evidenceLost(path, 'torn');
  if (found.loopId !== contract.loopId) throw evidenceLost(path, 'foreign');
  return found as Snapshot;
}

export function storeSnapshot(files: LoopFiles, snapshot: Snapshot): void {
  storeEvidence(files, snapshot.loopId, 'snapshot', JSON.stringify(snapshot));
}

/** Stores the stamps of evidence and watched files, own files first, for the next look and examination. */
export function storeLook(files: LoopFiles, snapshot: Snapshot): void {
  const { files: watched, folders } = snapshot;
  const now = Date.now();
  const stamped = (paths: readonly string[]): StampedPath[] => paths.map((path) => [path, stampOf(statAt(path), now)]);
  const paths = Object.keys(watched);
  const evidence = [files.contract, EVIDENCE.snapshot(files), packPath(files, snapshot)];
  const quick = [...evidence, ...paths.slice(0, LOOK_FILES), ...folders.slice(0, LOOK_FOLDERS)];
  const others = [...paths.slice(LOOK_FILES), ...folders.slice(LOOK_FOLDERS)];
  const [path, bytes] = [lookPath(files), lookBytes(stamped(quick), stamped(others))];
  // If a look is torn or lost in a crash of the machine, the next one only examines more.
  if (statAt(path)?.isFile() !== true || !readFileSync(path).equals(bytes))
    writeAtomically(path, bytes, 0o600, 'nothing');
}

/** Adds the current versions of these paths to the snapshot. `left`: the user's changes to restored files. */
export function adoptVersions(
  files: LoopFiles,
  snapshot: Snapshot,
  paths: readonly string[],
  left: readonly FileChange[],
  isKept: Watch['isKept'],
): Snapshot {
  const writer = newPack(packPath(files, snapshot), snapshot);
  const adopted: Record<string, KeptVersion | null> = {};
  try {
    for (const path of paths) adopted[path] = isKept(path) ? writer.add(path) : hashOf(path);
  } finally {
    writer.close();
  }
  const former = snapshot.left.filter(({ path }) => !left.some((change) => change.path === path));
  const next = { ...snapshot, files: { ...snapshot.files, ...adopted }, left: [...former, ...left] };
  storeSnapshot(files, next);
  return next;
}

/** Adds the files of the running build that are not watched yet: an update has replaced the build since the snapshot. */
export function adoptRunningBuild(
  files: LoopFiles,
  snapshot: Snapshot,
  { own, isKept }: Pick<Watch, 'own' | 'isKept'>,
): Snapshot {
  const running = runningBundle();
  const build = running && realPathOf(running);
  if (build === null) return snapshot;
  const isOfBuild = (path: string): boolean => realPathOf(path)?.startsWith(`${build}/`) === true;
  const added = own.filter((path) => snapshot.files[path] === undefined && isOfBuild(path));
  if (added.length === 0) return snapshot;
  return adoptVersions(files, { ...snapshot, own: [...snapshot.own, ...added] }, added, [], isKept);
}

/** Returns the kept content of a version; null if it was not kept, is damaged or missing, or may not be read. */
export function contentOf(files: LoopFiles, snapshot: Snapshot, version: KeptVersion): Buffer | null {
  const { offset, size, hash } = version;
  const path = packPath(files, snapshot);
  if (offset === null || statAt(path)?.isFile() !== true) return null;
  const read = (descriptor: number): Buffer | null => {
    const bytes = Buffer.alloc(size);
    const length = size === 0 ? 0 : readSync(descriptor, bytes, 0, size, offset);
    return length === size && sha256(bytes) === hash ? bytes : null;
  };
  return ifOutOfReach(() => withDescriptor(path, 'r', 0, read), null);
}

function newPack(path: string, former?: Snapshot) {
  // Opening a pipe would never end.
  if (statAt(path)?.isFile() === false) throw evidenceLost(path, 'torn');
  const descriptor = openSync(path, 'a', 0o600);
  const known = Object.values(former?.files ?? {}).filter((version) => version !== null && version.offset !== null);
  let end = Math.max(0, ...known.map((version) => (version?.offset ?? 0) + (version?.size ?? 0)));
  if (former !== undefined) end = Math.max(end, statAt(path)?.size ?? 0);
  let count = former === undefined ? 0 : known.length;
  return {
    /** Appends the content of a file within the limits, and returns its version. */
    add: (file: string): KeptVersion | null => {
      const size = statAt(file)?.size ?? 0;
      const fits = count < KEPT_FILES && end + size <= KEPT_BYTES;
      const chunks: Buffer[] = [];
      const version = versionAt(file, fits ? (bytes) => void chunks.push(bytes) : undefined);
      if (version === null || version.kind === 'other') return version && { ...version, offset: null };
      if (!fits || version.hash === '') return { ...version, offset: null };
      const content = Buffer.concat(chunks);
      const offset = end;
      writeWhole(descriptor, content, path);
      end += content.length;
      count += 1;
      return { ...version, size: content.length, offset };
    },
    close: () => {
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
  };
}

/**
 * Proves contract, snapshot, contents and stamps of a loop, and returns its snapshot; null if the contract lists none.
 * Throws `evidence-lost`. The caller holds the lock of the snapshot.
 */
export function provedSnapshot(files: LoopFiles, contract: EvidenceOf): Snapshot | null {
  proveContract(files);
  const snapshot = readSnapshot(files, contract);
  if (snapshot === null) return null;
  const look = lookPath(files);
  proveLook(look);
  const pack = packPath(files, snapshot);
  if (!isAsStamped(look, pack)) proveContents(files, snapshot, pack);
  return snapshot;
}

/** Returns whether a file has the stamp of the last examination, which an unprivileged program cannot forge. */
function isAsStamped(look: string, path: string): boolean {
  const known = readLook(look);
  const at = known?.paths.indexOf(path) ?? -1;
  const now = stampOf(statAt(path), Date.now());
  return known !== null && at >= 0 && now.every((figure, index) => figure === known.stamps[3 * at + index]);
}

function proveContents(files: LoopFiles, snapshot: Snapshot, pack: string): void {
  const stat = statAt(pack);
  const kept = Object.values(snapshot.files).filter((version) => version !== null && version.offset !== null);
  if (stat === null) throw evidenceLost(pack, 'missing');
  if (stat.size === 0 && kept.some((version) => version?.size !== 0)) throw evidenceLost(pack, 'empty');
  for (const version of kept) {
    if (version === null || contentOf(files, snapshot, version) !== null) continue;
    throw evidenceLost(pack, (version.offset ?? 0) + version.size > stat.size ? 'torn' : 'edited');
  }
}

/** Removes the snapshot of an ended loop, because it may contain secrets. */
export function dropSnapshot(files: LoopFiles): void {
  for (const end of ['json', 'look', 'restoring']) removeIfThere(`${files.snapshot}.${end}`);
  removePacks(files, null);
}

/** Returns the prefix of a loop's packs; a loop's name never contains a plus sign. */
const packPrefix = (snapshot: string): string => `${basename(snapshot)}+pack-`;

/** Removes the packs of former snapshots of these files, except `kept`. */
function removePacks({ outsideDir, snapshot }: LoopFiles, kept: string | null): void {
  const prefix = packPrefix(snapshot);
  for (const name of namesIn(outsideDir)) {
    if (name.startsWith(prefix) && name !== kept) removeIfThere(join(outsideDir, name));
  }
}
