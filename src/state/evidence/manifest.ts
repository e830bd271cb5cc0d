import { existsSync, mkdirSync } from 'node:fs';
import type { Contract } from '../../engine/schema/contract.ts';
import { writeAtomically } from '../files/regular-file.ts';
import { withLock } from '../lock/lock.ts';
import type { LoopFiles } from '../loop-files.ts';
import { evidenceBytes, evidenceJson, evidenceLost, lostBy } from './evidence-lost.ts';

/**
 * Files outside the project on which a verdict, a limit or a protection of a loop rests. To add one: a row here,
 * `storeEvidence` for every write, the first before the contract is written (which then lists it), and `readEvidence`.
 */
export const EVIDENCE = {
  contract: (files: LoopFiles) => files.contract,
  snapshot: (files: LoopFiles) => `${files.snapshot}.json`,
  unchanged: (files: LoopFiles) => files.unchanged,
  seen: (files: LoopFiles) => files.seen,
  startFiles: (files: LoopFiles) => files.startFiles,
  openTask: (files: LoopFiles) => files.openTask,
  commitIntent: (files: LoopFiles) => files.commitIntent,
  scenarios: (files: LoopFiles) => files.scenarios,
  counters: (files: LoopFiles) => files.counters,
  gitView: (files: LoopFiles) => files.gitView,
  startPoint: (files: LoopFiles) => files.startPoint,
} as const;

export type EvidenceName = keyof typeof EVIDENCE;
export const EVIDENCE_NAMES = Object.keys(EVIDENCE) as readonly EvidenceName[];

/** Entries that never change during a loop: the contract itself holds their SHA-256. */
export const FIXED: ReadonlySet<string> = new Set(['startFiles', 'startPoint']);

/** Entries without a digest, because every turn writes them: what they hold is compared with the state instead. */
export const LIVE: ReadonlySet<string> = new Set<EvidenceName>(['counters']);

/** Part of a contract that says which entries its loop has. */
export type EvidenceOf = Pick<Contract, 'loopId' | 'evidence'>;

const VERSION = 1;

/** SHA-256 of an entry. While it is replaced, `next` is believed as well, so that a kill at any point loses nothing. */
export interface Digests {
  readonly is: string;
  readonly next?: string;
  /** Digests of former versions, newest first, by which an older copy is recognised. */
  readonly was?: readonly string[];
}

/** Digests of a loop's evidence, beside its contract. */
export interface Manifest {
  readonly version: typeof VERSION;
  readonly loopId: string;
  readonly entries: Readonly<Record<string, Digests>>;
}

const WAIT_MS = 20_000;

/** Runs `work` exclusively among all processes that write evidence of this loop. */
export function withManifestLock<T>(files: LoopFiles, work: () => T): T {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  return withLock(`${files.evidence}.lock`, work, WAIT_MS);
}

/** Reads the manifest of a loop. Throws `evidence-lost`. */
export function readManifest(files: LoopFiles, loopId: string): Manifest {
  const manifest = anyManifest(files);
  if (manifest.loopId !== loopId) throw evidenceLost(files.evidence, 'foreign');
  return manifest;
}

/** Returns the id of the loop whose manifest is there. Throws `evidence-lost`. */
export function ownerOfManifest(files: Pick<LoopFiles, 'evidence'>): string {
  return anyManifest(files).loopId;
}

function anyManifest({ evidence: path }: Pick<LoopFiles, 'evidence'>): Manifest {
  const { version, loopId, entries } = evidenceJson(path, evidenceBytes(path));
  const isWhole = version === VERSION && typeof loopId === 'string' && typeof entries === 'object' && entries !== null;
  if (!isWhole) throw evidenceLost(path, 'torn');
  return { version, loopId, entries: entries as Manifest['entries'] };
}

/** Returns the manifest of a loop, or without `loopId` of any; null if there is none. Throws `evidence-lost`. */
export function findManifest(files: Pick<LoopFiles, 'evidence'>, loopId?: string): Manifest | null {
  const found = existsSync(files.evidence) ? anyManifest(files) : null;
  return found?.loopId === (loopId ?? found?.loopId) ? found : null;
}

/** Does the same, with null for a manifest that is lost. */
export function manifestUnlessLost(files: Pick<LoopFiles, 'evidence'>, loopId?: string): Manifest | null {
  try {
    return findManifest(files, loopId);
  } catch (error) {
    if (lostBy(error) === null) throw error;
    return null;
  }
}

/** Writes the manifest. `waitsFor` the content alone if the one before says the same of what is on disk. */
export function writeManifest(
  files: LoopFiles,
  loopId: string,
  entries: Manifest['entries'],
  waitsFor: 'name' | 'content' | 'nothing' = 'name',
): void {
  const manifest: Manifest = { version: VERSION, loopId, entries };
  writeAtomically(files.evidence, `${JSON.stringify(manifest)}\n`, 0o600, waitsFor);
}
