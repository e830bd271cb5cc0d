import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import type { Contract, StoredContract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Message, RalphError } from '../../text/message.ts';
import { ifOutOfReach, regularFile, writeAtomically } from '../files/regular-file.ts';
import { hashContract, sha256 } from '../hash-contract.ts';
import { withLock } from '../lock/lock.ts';
import { findContract, type LoopFiles, noticesOf, readRecords } from '../loop-files.ts';

const CAUSES = {
  missing: 'is missing',
  empty: 'is empty',
  torn: 'is incomplete or not readable',
  older: 'was replaced by an older copy',
  edited: 'was changed by another program',
  foreign: 'belongs to another loop',
} as const;

/** File of a loop's evidence that cannot be trusted, and why. */
interface LostEvidence {
  readonly path: string;
  readonly why: keyof typeof CAUSES;
}

/** Returns which file is lost and why. */
export function lossText({ path, why }: LostEvidence): string {
  return `${path} ${CAUSES[why]}`;
}

/** Returns the RalphError `evidence-lost`, which names the file and the cause. */
export function evidenceLost(path: string, why: LostEvidence['why']): RalphError {
  const message: Message = {
    text: `Evidence of this loop is lost: ${lossText({ path, why })}.`,
    advice: [{ verb: 'Check the project, then take its present state as a new start', command: 'resume' }],
  };
  return new RalphError('evidence-lost', message, { path, why } satisfies LostEvidence);
}

/** Returns the lost evidence that an error names; null for every other error. */
export function lostBy(error: unknown): LostEvidence | null {
  return error instanceof RalphError && error.code === 'evidence-lost' ? (error.cause as LostEvidence) : null;
}

/** Returns the message of an error about lost evidence. Throws every other error. */
export function lossIn(error: unknown): Message {
  if (lostBy(error) !== null) return (error as RalphError).advised;
  throw error;
}

/** Returns the message about the evidence that `prove` finds lost; null if none is. Throws every other error. */
export function lossBy(prove: () => void): Message | null {
  try {
    prove();
    return null;
  } catch (error) {
    return lossIn(error);
  }
}

/** Returns what `read` returns, or `otherwise` if it finds evidence lost. Throws every other error. */
export function unlessLost<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch (error) {
    lossIn(error);
    return otherwise;
  }
}

/** Returns the bytes of a file of evidence. Throws `evidence-lost` if it is missing, empty or not readable. */
export function evidenceBytes(path: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(regularFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw evidenceLost(path, code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'torn');
  }
  if (bytes.length === 0) throw evidenceLost(path, 'empty');
  return bytes;
}

/** Parses a record of evidence. Throws `evidence-lost` if it is not a JSON object. */
export function evidenceJson(path: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw evidenceLost(path, 'torn');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw evidenceLost(path, 'torn');
  return value as Readonly<Record<string, unknown>>;
}

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

/** Entries that never change during a loop: the contract itself contains their SHA-256. */
export const FIXED: ReadonlySet<string> = new Set(['startFiles', 'startPoint']);

/** Entries without a digest, because every turn writes them: their content is compared with the state instead. */
export const LIVE: ReadonlySet<string> = new Set<EvidenceName>(['counters']);

/**
 * Entries that only the runner's process and the user's `accept` write while a runner drives the loop: it remembers their
 * digests. Hooks also write the snapshot, and the agent's `tdd` commands the scenarios; counters are remembered separately.
 */
export const HELD: ReadonlySet<string> = new Set<EvidenceName>([
  'contract',
  'unchanged',
  'seen',
  'openTask',
  'commitIntent',
  'gitView',
]);

/** Part of a contract that lists the entries of its loop. */
export type EvidenceOf = Pick<Contract, 'loopId' | 'evidence'>;

const VERSION = 1;

/** SHA-256 of an entry. While it is replaced, `next` is trusted as well, so that a kill at any point loses nothing. */
export interface Digests {
  readonly is: string;
  readonly next?: string;
  /** Digests of former versions, newest first; they reveal an older copy. */
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

/** Like `findManifest`, but returns null for a lost manifest. */
export function manifestUnlessLost(files: Pick<LoopFiles, 'evidence'>, loopId?: string): Manifest | null {
  return unlessLost(() => findManifest(files, loopId), null);
}

/** Writes the manifest. `waitsFor`: the content is enough if the previous manifest says the same about the disk. */
export function writeManifest(
  files: LoopFiles,
  loopId: string,
  entries: Manifest['entries'],
  waitsFor: 'name' | 'content' | 'nothing' = 'name',
): void {
  const manifest: Manifest = { version: VERSION, loopId, entries };
  writeAtomically(files.evidence, `${JSON.stringify(manifest)}\n`, 0o600, waitsFor);
}

type NamesContract = Pick<LoopState, 'loopId' | 'contractHash'>;

/**
 * Returns the contract of a loop; null only if the loop has none: its state names none, and there is no file. Throws
 * `evidence-lost` for one that is missing, empty, torn, older, edited or another loop's. A state changed by another
 * program does not discredit it. Computes its hash only if state and contract disagree; `proveContract` always does.
 */
export function liveContract(
  files: LoopFiles,
  { loopId, contractHash }: NamesContract,
  { contract: found, counters } = readRecords(files),
): StoredContract | null {
  if (found === 'absent' && contractHash === null) return null;
  const stored = presentContract(files, found);
  const isNamed = stored.hash === contractHash && stored.contract.loopId === loopId;
  if (!isNamed && contractHash !== null) proveAgainstManifest(files, stored, loopId);
  if (stored.contract.evidence['counters'] === undefined) return stored;
  if (counters?.loopId === stored.contract.loopId) return stored;
  // Without the counters, an older state would go unnoticed.
  evidenceBytes(files.counters);
  throw evidenceLost(files.counters, counters === null ? 'torn' : 'foreign');
}

/** Returns the contract of a loop as `liveContract` does, or the message about its lost evidence. */
export function contractOrLoss(files: LoopFiles, state: NamesContract, found = readRecords(files)) {
  try {
    return { stored: liveContract(files, state, found), lost: null };
  } catch (error) {
    return { stored: null, lost: lossIn(error) };
  }
}

/** Throws `evidence-lost` unless the manifest confirms the contract, which means that the state was changed. */
function proveAgainstManifest(files: LoopFiles, { contract }: StoredContract, loopId: string): void {
  const { loopId: whose } = anyManifest(files);
  if (whose === contract.loopId) readEvidence(files, { loopId: whose, evidence: {} }, 'contract');
  else if (whose === loopId) throw evidenceLost(files.contract, 'foreign');
  else throw evidenceLost(files.evidence, 'foreign');
}

/** Throws `evidence-lost` unless the contract's content matches its own hash and the manifest. */
export function proveContract(files: LoopFiles): void {
  const { hash, contract } = presentContract(files, findContract(files));
  readEvidence(files, contract, 'contract');
  if (hashContract(contract) !== hash) throw evidenceLost(files.contract, 'edited');
}

function presentContract(files: LoopFiles, found: ReturnType<typeof findContract>): StoredContract {
  if (typeof found !== 'string') return found;
  evidenceBytes(files.contract);
  throw evidenceLost(files.contract, 'torn');
}

/**
 * Returns the bytes of an entry; null only if the contract lists none. Throws RalphError `evidence-lost`, with file and
 * cause, for an entry that is missing, empty, torn, older, edited or another loop's.
 */
export function readEvidence(files: LoopFiles, { loopId, evidence }: EvidenceOf, name: EvidenceName): Buffer | null {
  const path = EVIDENCE[name](files);
  const fixed = evidence[name];
  if (fixed === undefined && name !== 'contract') return null;
  if (typeof fixed === 'string') return proved(path, { is: fixed });
  if (LIVE.has(name)) return evidenceBytes(path);
  return onceMoreAlone(files, (alone) => provedByManifest(files, loopId, name, alone));
}

/** Returns the record in an entry, like `readEvidence`, or null. The caller validates its content. */
export function readEvidenceRecord<T>(files: LoopFiles, contract: EvidenceOf, name: EvidenceName): Partial<T> | null {
  const bytes = readEvidence(files, contract, name);
  return bytes && (evidenceJson(EVIDENCE[name](files), bytes) as Partial<T>);
}

/** Repeats a proof that found evidence lost, `alone` under the lock: another process may have been replacing it. */
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
  // A process that resumes the loop later must find the entry lost as well.
  if (alone) writeManifest(files, loopId, { ...entries, [name]: { is: held } });
  throw evidenceLost(path, 'edited');
}

export function proved(path: string, { is, next, was = [] }: Digests): Buffer {
  const bytes = evidenceBytes(path);
  const found = sha256(bytes);
  if (found === is || found === next) return bytes;
  throw evidenceLost(path, was.includes(found) ? 'older' : 'edited');
}

/** Proves a contract and every entry it lists. Throws `evidence-lost` with the first that cannot be trusted. */
export function proveEvidence(files: LoopFiles, contract: EvidenceOf): void {
  const listed = ['contract', ...Object.keys(contract.evidence)];
  for (const name of EVIDENCE_NAMES) if (listed.includes(name)) readEvidence(files, contract, name);
  proveNotices(files, contract.loopId);
}

/** Throws `evidence-lost` if the contract, the manifest or a listed entry is missing, empty or not a file. Reads none. */
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

/** Returns whether an entry of a loop can be trusted; also true if the contract lists none. */
export function isWhole(files: LoopFiles, contract: EvidenceOf, name: EvidenceName): boolean {
  return lossBy(() => readEvidence(files, contract, name)) === null;
}

/** Remembers the entries of a loop that this process begins to drive. Returns a function that forgets them. */
export function holdEvidence(files: LoopFiles, loopId: string): () => void {
  const { entries } = readManifest(files, loopId);
  const forget = beginMemory(files);
  for (const [name, { is }] of Object.entries(entries)) if (HELD.has(name)) hold(files, loopId, name, is);
  return forget;
}

/** Returns the entries stored so far, for the contract: the SHA-256 of those that never change, null for the others. */
export function listEvidence(files: LoopFiles, loopId: string): EvidenceOf['evidence'] {
  const entries = Object.entries(readManifest(files, loopId).entries).filter(([name]) => name !== 'contract');
  return Object.fromEntries(entries.map(([name, { is }]) => [name, FIXED.has(name) ? is : null]));
}

/** Returns the files of a loop that may have ended; its contract and its manifest have then been moved aside. */
export function filesAtEnd(files: LoopFiles): LoopFiles {
  const present = (path: string): string => (existsSync(path) ? path : `${path}.ended`);
  return { ...files, contract: present(files.contract), evidence: present(files.evidence) };
}

interface HeldDigest {
  readonly is: string;
  /** Number of changes that the user had accepted when the digest was remembered. */
  readonly accepted: number;
}

interface Memory {
  readonly digests: Map<string, HeldDigest>;
  /** Notices for reports, as last read. */
  notices: readonly string[];
}

/** Memories of the loops that this process drives, by the path of their manifest. */
const memories = new Map<string, Memory>();

/** Begins the memory of a loop that this process begins to drive. Returns a function that ends it. */
function beginMemory({ evidence }: LoopFiles): () => void {
  memories.set(evidence, { digests: new Map(), notices: [] });
  return () => void memories.delete(evidence);
}

/** Remembers the digest of an entry, if this process drives the loop. */
export function hold(files: LoopFiles, loopId: string, name: string, is: string): void {
  memories.get(files.evidence)?.digests.set(name, { is, accepted: acceptedOf(files, loopId) });
}

/**
 * Returns the digest that this process remembers for an entry, if the entry's content differs and the user has accepted
 * no change since; null if it can be trusted, as always in a process that does not drive the loop.
 */
function heldAgainst(files: LoopFiles, loopId: string, name: string, bytes: Buffer): string | null {
  const held = memories.get(files.evidence)?.digests.get(name);
  const is = held && sha256(bytes);
  if (held === undefined || is === undefined || held.is === is) return null;
  if (acceptedOf(files, loopId) === held.accepted) return held.is;
  hold(files, loopId, name, is);
  return null;
}

function acceptedOf(files: LoopFiles, loopId: string): number {
  return noticesOf(files, loopId).filter(({ kind }) => kind === 'accept').length;
}

/** Number of notices that are compared: the oldest are dropped once the file has reached its full size. */
const MOST_NOTICES = 100;

/** Throws `evidence-lost` if notices that this process has seen are gone: reports would no longer include them. */
function proveNotices(files: LoopFiles, loopId: string): void {
  const memory = memories.get(files.evidence);
  if (memory === undefined) return;
  const now = noticesOf(files, loopId).map((notice) => JSON.stringify(notice));
  const there = new Set(now);
  if (!memory.notices.every((notice) => there.has(notice))) throw evidenceLost(files.notices, 'edited');
  memory.notices = now.slice(-MOST_NOTICES);
}
