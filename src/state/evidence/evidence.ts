import { existsSync, statSync } from 'node:fs';
import { ifOutOfReach } from '../files/regular-file.ts';
import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import { evidenceBytes, evidenceLost, lostBy } from './evidence-lost.ts';
import { heldAgainst, proveNotices } from './held-digests.ts';
import type { Digests, EvidenceName, EvidenceOf } from './manifest.ts';
import { EVIDENCE, EVIDENCE_NAMES, FIXED, LIVE, readManifest, withManifestLock, writeManifest } from './manifest.ts';

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

/** Returns the entries stored so far, for the contract: the SHA-256 of those that never change, null for the others. */
export function listEvidence(files: LoopFiles, loopId: string): EvidenceOf['evidence'] {
  const entries = Object.entries(readManifest(files, loopId).entries).filter(([name]) => name !== 'contract');
  return Object.fromEntries(entries.map(([name, { is }]) => [name, FIXED.has(name) ? is : null]));
}

/** Returns the files of a loop that may have ended, whose manifest is then set aside. */
export function filesAtEnd(files: LoopFiles): LoopFiles {
  return existsSync(files.evidence) ? files : { ...files, evidence: `${files.evidence}.ended` };
}
