import { existsSync, statSync } from 'node:fs';
import { ifOutOfReach, writeAtomically } from '../files/regular-file.ts';
import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import { evidenceBytes, evidenceLost, lostBy } from './evidence-lost.ts';
import { heldAgainst, hold, proveNotices } from './held-digests.ts';
import type { Digests, EvidenceName, EvidenceOf, Manifest } from './manifest.ts';
import {
  EVIDENCE,
  EVIDENCE_NAMES,
  FIXED,
  findManifest,
  LIVE,
  manifestUnlessLost,
  readManifest,
  waitOfNew,
  withManifestLock,
  writeManifest,
} from './manifest.ts';

/**
 * Returns the bytes of an entry; null if, and only if, the contract has none. Throws RalphError `evidence-lost`, with file
 * and cause, for an entry that is missing, empty, torn, older, edited or another loop's.
 */
export function readEvidence(files: LoopFiles, { loopId, evidence }: EvidenceOf, name: EvidenceName): Buffer | null {
  const path = EVIDENCE[name](files);
  const fixed = evidence[name];
  if (fixed === undefined && name !== 'contract') return null;
  if (typeof fixed === 'string') return proved(path, { is: fixed });
  if (LIVE.has(name)) return evidenceBytes(path);
  return onceMoreAlone(files, (alone) => provedByManifest(files, loopId, name, alone));
}

/** Repeats, `alone`, what found evidence lost: another process may have been replacing it. */
export function onceMoreAlone<T>(files: LoopFiles, prove: (alone: boolean) => T): T {
  try {
    return prove(false);
  } catch (error) {
    if (lostBy(error) === null) throw error;
    return withManifestLock(files, () => prove(true));
  }
}

function provedByManifest(files: LoopFiles, loopId: string, name: EvidenceName, alone: boolean): Buffer {
  const { entries } = readManifest(files, loopId);
  const digests = entries[name];
  if (digests === undefined) throw evidenceLost(files.evidence, 'edited');
  const path = EVIDENCE[name](files);
  const bytes = proved(path, digests);
  const held = heldAgainst(files, loopId, name, bytes);
  if (held === null) return bytes;
  // So that the entry is lost for a process that resumes the loop as well.
  if (alone) writeManifest(files, loopId, { ...entries, [name]: { is: held } });
  throw evidenceLost(path, 'edited');
}

export function proved(path: string, { is, next, was = [] }: Digests): Buffer {
  const bytes = evidenceBytes(path);
  const found = sha256(bytes);
  if (found === is || found === next) return bytes;
  throw evidenceLost(path, was.includes(found) ? 'older' : 'edited');
}

/** Begins the evidence of a new loop, or of a resumed one, whose entries stay unless its manifest is lost. */
export function beginEvidence(files: LoopFiles, loopId: string): void {
  withManifestLock(files, () => {
    if (manifestUnlessLost(files, loopId) !== null) return;
    const entries = manifestUnlessLost({ evidence: `${files.evidence}.ended` }, loopId)?.entries ?? {};
    writeManifest(files, loopId, entries, waitOfNew(entries, ''));
  });
}

/** Replaces an entry, so that after a kill at any point the old or the new one is there and believed. */
export function storeEvidence(files: LoopFiles, loopId: string, name: EvidenceName, content: string | Buffer): void {
  const path = EVIDENCE[name](files);
  withManifestLock(files, () => {
    const manifest = findManifest(files, loopId);
    const waitsFor = manifest === null ? 'name' : waitOfNew(manifest.entries, name);
    // All entries are in one folder, so the contract's listing, which waits for its name, waits for theirs.
    const write = (): void => writeAtomically(path, content, 0o600, waitsFor === 'nothing' ? 'content' : 'name');
    if (manifest === null) return write();
    const digest = sha256(content);
    replaceEntry(files, manifest, { name, path, digest, write, waitsFor });
    hold(files, loopId, name, digest);
  });
}

const MOST_FORMER = 20;

interface Replacement {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
  readonly write: () => void;
  /** What the listing of a new entry waits for. */
  readonly waitsFor?: 'name' | 'nothing';
}

/** Replaces an entry of this manifest. Called under its lock. */
export function replaceEntry(
  files: LoopFiles,
  { loopId, entries }: Pick<Manifest, 'loopId' | 'entries'>,
  { name, path, digest, write, waitsFor }: Replacement,
): void {
  const known = settled(path, entries[name]);
  if (known === null) {
    // A new entry has no old version to believe: once listed, it is missing until it is there.
    writeManifest(files, loopId, { ...entries, [name]: { is: digest } }, waitsFor);
    write();
    return;
  }
  writeManifest(files, loopId, { ...entries, [name]: { ...known, next: digest } });
  write();
  const former = known.is === digest ? (known.was ?? []) : [known.is, ...(known.was ?? [])];
  const was = former.filter((each) => each !== digest).slice(0, MOST_FORMER);
  // After a crash of the machine the manifest may be the one above, which believes the new version as well.
  writeManifest(files, loopId, { ...entries, [name]: { was, is: digest } }, 'content');
}

/** Returns an entry whose replacement was killed as what is on disk; null for a new one. */
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

/** Proves a contract and every entry that it lists. Throws `evidence-lost` with the first that cannot be believed. */
export function proveEvidence(files: LoopFiles, contract: EvidenceOf): void {
  const listed = ['contract', ...Object.keys(contract.evidence)];
  for (const name of EVIDENCE_NAMES) if (listed.includes(name)) readEvidence(files, contract, name);
  proveNotices(files, contract.loopId);
}

/** Throws `evidence-lost` for the contract, the manifest or a listed entry that is missing, empty or no file. Reads none of them. */
export function requireEvidence(files: LoopFiles, { loopId, evidence }: EvidenceOf): void {
  const listed = EVIDENCE_NAMES.filter((name) => name === 'contract' || Object.hasOwn(evidence, name));
  for (const path of [files.evidence, ...listed.map((name) => EVIDENCE[name](files))]) {
    const stat = ifOutOfReach(() => statSync(path, { throwIfNoEntry: false }), null);
    if (stat === undefined) throw evidenceLost(path, 'missing');
    if (stat === null || !stat.isFile()) throw evidenceLost(path, 'torn');
    if (stat.size === 0) throw evidenceLost(path, 'empty');
  }
  proveNotices(files, loopId);
}

/** Returns whether an entry of a loop can be believed; true as well if the contract has none. */
export function isWhole(files: LoopFiles, contract: EvidenceOf, name: EvidenceName): boolean {
  try {
    readEvidence(files, contract, name);
    return true;
  } catch (error) {
    if (lostBy(error) === null) throw error;
    return false;
  }
}

/** Removes an entry from the manifest, because the loop no longer has it. */
export function forgetEvidence(files: LoopFiles, loopId: string, name: EvidenceName): void {
  withManifestLock(files, () => {
    const manifest = findManifest(files, loopId);
    if (manifest?.entries[name] === undefined) return;
    const { [name]: _, ...entries } = manifest.entries;
    writeManifest(files, loopId, entries);
  });
}

/** Returns the entries stored so far, for the contract: the SHA-256 of those that never change, null for the others. */
export function listEvidence(files: LoopFiles, loopId: string): EvidenceOf['evidence'] {
  const entries = Object.entries(readManifest(files, loopId).entries).filter(([name]) => name !== 'contract');
  return Object.fromEntries(entries.map(([name, { is }]) => [name, FIXED.has(name) ? is : null]));
}

/** Returns the files of a loop that may have ended, whose manifest is then set aside. */
export function filesAtEnd(files: LoopFiles): LoopFiles {
  return existsSync(files.evidence) ? files : { ...files, evidence: `${files.evidence}.ended` };
}
