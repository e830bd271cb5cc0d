import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StoredContract } from '../../engine/schema/contract.ts';
import { moveFolderAside, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import type { Digests, EvidenceName, Manifest } from './evidence.ts';
import {
  EVIDENCE,
  evidenceBytes,
  findManifest,
  HELD,
  hold,
  manifestUnlessLost,
  withManifestLock,
  writeManifest,
} from './evidence.ts';

/** Begins evidence; that of a resumed loop stays unless its manifest is lost. Moves folders in its place aside. */
export function beginEvidence(files: LoopFiles, loopId: string): void {
  withManifestLock(files, () => {
    const { outsideDir, gitViews, snapshot } = files;
    for (const path of [...Object.values(files), `${snapshot}.json`, `${snapshot}.look`])
      if (path !== null && dirname(path) === outsideDir && path !== gitViews) moveFolderAside(path);
    if (manifestUnlessLost(files, loopId) !== null) return;
    const entries = manifestUnlessLost({ evidence: `${files.evidence}.ended` }, loopId)?.entries ?? {};
    writeManifest(files, loopId, entries, waitOfNew(entries, ''));
  });
}

/** Replaces an entry. After a kill at any point, the old or the new one exists and is trusted. */
export function storeEvidence(files: LoopFiles, loopId: string, name: EvidenceName, content: string | Buffer): void {
  const path = EVIDENCE[name](files);
  withManifestLock(files, () => {
    const manifest = findManifest(files, loopId);
    const waitsFor = manifest === null ? 'name' : waitOfNew(manifest.entries, name);
    // All entries share one folder, so the write of the contract, which waits for its name, syncs their names too.
    const write = (): void => writeAtomically(path, content, 0o600, waitsFor === 'nothing' ? 'content' : 'name');
    if (manifest === null) return write();
    const digest = sha256(content);
    replaceEntry(files, manifest, { name, path, digest, write, waitsFor });
    if (HELD.has(name)) hold(files, loopId, name, digest);
  });
}

/** Stores a contract, and a mark if it has no private files. Without the mark, as during a replacement, reads are guarded. */
export function writeContract(files: LoopFiles, stored: StoredContract): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  removeIfThere(files.freeReads);
  storeEvidence(files, stored.contract.loopId, 'contract', `${JSON.stringify(stored, null, 2)}\n`);
  // Losing the mark costs only time.
  if (stored.contract.guardrails?.privateFiles?.length === 0) writeAtomically(files.freeReads, '', 0o600, 'nothing');
}

const MOST_FORMER = 20;

interface Replacement {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
  readonly write: () => void;
  /** What the manifest that lists a new entry waits for. */
  readonly waitsFor?: 'name' | 'nothing';
}

/** Replaces an entry of this manifest. The caller holds its lock. */
export function replaceEntry(
  files: LoopFiles,
  { loopId, entries }: Pick<Manifest, 'loopId' | 'entries'>,
  { name, path, digest, write, waitsFor }: Replacement,
): void {
  const known = settled(path, entries[name]);
  if (known === null) {
    // A new entry has no old version to trust: once listed, it counts as missing until the file exists.
    writeManifest(files, loopId, { ...entries, [name]: { is: digest } }, waitsFor);
    write();
    return;
  }
  writeManifest(files, loopId, { ...entries, [name]: { ...known, next: digest } });
  write();
  const former = known.is === digest ? (known.was ?? []) : [known.is, ...(known.was ?? [])];
  const was = former.filter((each) => each !== digest).slice(0, MOST_FORMER);
  // After a crash of the machine the manifest may be the one above, which also trusts the new version.
  writeManifest(files, loopId, { ...entries, [name]: { was, is: digest } }, 'content');
}

/** Returns the digests of an entry whose replacement was killed, settled by the file on disk; null for a new one. */
function settled(path: string, digests: Digests | undefined): Digests | null {
  if (digests?.next === undefined) return digests ?? null;
  const { is, next, was = [] } = digests;
  const isReplaced = existsSync(path) && sha256(evidenceBytes(path)) === next;
  return isReplaced ? { is: next, was: [is, ...was] } : { is, was };
}

/** Adds an entry without a digest (LIVE), so that the contract lists it. */
export function listLiveEvidence(files: LoopFiles, loopId: string, name: EvidenceName): void {
  withManifestLock(files, () => {
    const entries = findManifest(files, loopId)?.entries;
    if (entries !== undefined && entries[name] === undefined)
      writeManifest(files, loopId, { ...entries, [name]: { is: '' } }, waitOfNew(entries, name));
  });
}

/** Removes an entry that the loop no longer has from the manifest. */
export function forgetEvidence(files: LoopFiles, loopId: string, name: EvidenceName): void {
  withManifestLock(files, () => {
    const manifest = findManifest(files, loopId);
    if (manifest?.entries[name] === undefined) return;
    const { [name]: _, ...entries } = manifest.entries;
    writeManifest(files, loopId, entries);
  });
}

/** Returns what a new entry of a loop waits for: no loop rests on it until its contract, stored last, is listed. */
function waitOfNew(entries: Manifest['entries'], name: string): 'name' | 'nothing' {
  return name === 'contract' || entries['contract'] !== undefined ? 'name' : 'nothing';
}
