import { join, relative } from 'node:path';
import { type EvidenceOf, evidenceLost, readEvidenceRecord } from '../evidence/evidence.ts';
import { forgetEvidence, storeEvidence } from '../evidence/store-evidence.ts';
import { removeIfThere } from '../files/regular-file.ts';
import type { LoopFiles } from '../loop-files.ts';
import { type FileSet, listFiles } from './list-files.ts';
import type { FileChange } from './snapshot.ts';
import { isSameVersion, type Version, versionAt } from './version.ts';

const FORMAT = 1;

/** State of the `unchanged` files at the start of a loop, or as last accepted. It is kept after the loop's end. */
interface UnchangedFiles {
  readonly version: typeof FORMAT;
  readonly loopId: string;
  readonly globs: readonly string[];
  readonly files: Readonly<Record<string, Version>>;
}

/** Records the current state of the files of `set`, or removes a former loop's record if nothing has to be unchanged. */
export function storeUnchanged(files: LoopFiles, loopId: string, globs: readonly string[], set: FileSet): void {
  if (globs.length === 0) {
    forgetEvidence(files, loopId, 'unchanged');
    removeIfThere(files.unchanged);
    return;
  }
  const versions: Record<string, Version> = {};
  for (const path of listFiles(set).files) {
    const version = versionAt(path);
    if (version !== null) versions[relative(files.projectDir, path)] = version;
  }
  const record: UnchangedFiles = { version: FORMAT, loopId, globs, files: versions };
  storeEvidence(files, loopId, 'unchanged', `${JSON.stringify(record)}\n`);
}

/** Reads the `unchanged` files of a loop; null if its contract lists none or the globs differ. Throws `evidence-lost`. */
export function readUnchanged(files: LoopFiles, contract: EvidenceOf, globs: readonly string[]): UnchangedFiles | null {
  const found = readEvidenceRecord<UnchangedFiles>(files, contract, 'unchanged');
  if (found === null) return null;
  if (found.version !== FORMAT || typeof found.files !== 'object') throw evidenceLost(files.unchanged, 'torn');
  if (found.loopId !== contract.loopId) throw evidenceLost(files.unchanged, 'foreign');
  return JSON.stringify(found.globs) === JSON.stringify(globs) ? (found as UnchangedFiles) : null;
}

/** Returns the differences between the files of `set` and the recorded ones, by path. */
export function changesOfUnchanged({ projectDir }: LoopFiles, { files }: UnchangedFiles, set: FileSet): FileChange[] {
  const before = new Map(Object.entries(files).map(([path, version]) => [join(projectDir, path), version]));
  const changes = [...before].flatMap(([path, version]): FileChange[] => {
    const now = versionAt(path, undefined, version);
    if (now === null) return [{ path, was: 'deleted' }];
    return isSameVersion(version, now) ? [] : [{ path, was: 'changed' }];
  });
  const added = listFiles(set).files.filter((path) => !before.has(path));
  return [...changes, ...added.map((path): FileChange => ({ path, was: 'new' }))].sort((a, b) =>
    a.path < b.path ? -1 : 1,
  );
}
