import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import { noticesOf } from '../notices.ts';
import { evidenceLost } from './evidence-lost.ts';

interface HeldDigest {
  readonly is: string;
  /** Number of changes that the user had accepted by then. */
  readonly accepted: number;
}

interface Memory {
  readonly digests: Map<string, HeldDigest>;
  /** What reports have to say, as last read. */
  notices: readonly string[];
}

/** Memories of the loops that this process drives, by the path of their manifest. */
const memories = new Map<string, Memory>();

/** Begins the memory of a loop that this process begins to drive. Returns a function that ends it. */
export function beginMemory({ evidence }: LoopFiles): () => void {
  memories.set(evidence, { digests: new Map(), notices: [] });
  return () => void memories.delete(evidence);
}

/** Remembers the digest of an entry, if this process drives the loop. */
export function hold(files: LoopFiles, loopId: string, name: string, is: string): void {
  memories.get(files.evidence)?.digests.set(name, { is, accepted: acceptedOf(files, loopId) });
}

/**
 * Returns the digest that this process remembers of an entry, if the entry has another one that the user has not accepted
 * since; null if it can be believed, as always in a process that does not drive the loop.
 */
export function heldAgainst(files: LoopFiles, loopId: string, name: string, bytes: Buffer): string | null {
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

/** Number of notices that are compared: the oldest are dropped once the file has its full size. */
const MOST_NOTICES = 100;

/** Throws `evidence-lost` if notices are gone that this process has seen: reports would no longer name what they say. */
export function proveNotices(files: LoopFiles, loopId: string): void {
  const memory = memories.get(files.evidence);
  if (memory === undefined) return;
  const now = noticesOf(files, loopId).map((notice) => JSON.stringify(notice));
  const there = new Set(now);
  if (!memory.notices.every((notice) => there.has(notice))) throw evidenceLost(files.notices, 'edited');
  memory.notices = now.slice(-MOST_NOTICES);
}
