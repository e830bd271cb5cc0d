import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { moveFolderAside, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import {
  evidenceJson,
  evidenceLost,
  findManifest,
  manifestUnlessLost,
  onceMoreAlone,
  proved,
  withManifestLock,
  writeManifest,
} from './evidence.ts';
import { replaceEntry } from './store-evidence.ts';

/** Owner of the manifest of the project's own records: that of a parallel run, and one for each worktree. */
const OWNER = 'project';

/** Digest of a record that is about to be removed. */
const REMOVED = 'removed';

const recordsOf = (files: LoopFiles): LoopFiles => ({ ...files, evidence: files.records });

/** Replaces a record. After a kill at any point, the old or the new record exists and is trusted. */
export function storeProjectRecord(files: LoopFiles, path: string, record: object): void {
  const own = recordsOf(files);
  const text = `${JSON.stringify(record)}\n`;
  const write = (): void => writeAtomically(path, text, 0o600);
  withManifestLock(own, () => {
    for (const each of [path, own.evidence]) moveFolderAside(each);
    // If the digests are lost, no other record is trusted from here on.
    const entries = manifestUnlessLost(own, OWNER)?.entries ?? {};
    replaceEntry(own, { loopId: OWNER, entries }, { name: basename(path), path, digest: sha256(text), write });
  });
}

/**
 * Reads a record; null only if there is none. The caller validates its content. Throws `evidence-lost` for a record that is
 * missing, empty, torn, older or edited.
 */
export function readProjectRecord(files: LoopFiles, path: string): Readonly<Record<string, unknown>> | null {
  return onceMoreAlone(recordsOf(files), () => provedRecord(recordsOf(files), path));
}

function provedRecord(own: LoopFiles, path: string): Readonly<Record<string, unknown>> | null {
  const digests = findManifest(own, OWNER)?.entries[basename(path)];
  if (!existsSync(path) && (digests === undefined || digests.next === REMOVED)) return null;
  if (digests === undefined) throw evidenceLost(own.evidence, existsSync(own.evidence) ? 'edited' : 'missing');
  return evidenceJson(path, proved(path, digests));
}

export function dropProjectRecord(files: LoopFiles, path: string): void {
  const own = recordsOf(files);
  withManifestLock(own, () => {
    for (const each of [path, own.evidence]) moveFolderAside(each);
    const { [basename(path)]: digests, ...others } = manifestUnlessLost(own, OWNER)?.entries ?? {};
    if (digests !== undefined)
      writeManifest(own, OWNER, { ...others, [basename(path)]: { ...digests, next: REMOVED } });
    removeIfThere(path);
    if (digests !== undefined) writeManifest(own, OWNER, others);
  });
}
