import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import { noticesOf } from '../notices.ts';
import { evidenceLost } from './evidence-lost.ts';
import { type EvidenceName, readManifest } from './manifest.ts';

/**
 * Entries that only a runner's process and the user's `accept` write while the runner drives the loop. Hooks write the
 * snapshot as well, and the agent's `tdd` commands the scenarios; counters are remembered as such.
 */
const HELD: readonly EvidenceName[] = ['contract', 'unchanged', 'seen', 'openTask', 'commitIntent', 'gitView'];

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

/** Remembers the entries of a loop that this process begins to drive. Returns a function that forgets them. */
export function holdEvidence(files: LoopFiles, loopId: string): () => void {
  const { entries } = readManifest(files, loopId);
  memories.set(files.evidence, { digests: new Map(), notices: [] });
  for (const [name, { is }] of Object.entries(entries)) hold(files, loopId, name, is);
  return () => void memories.delete(files.evidence);
}

/** Remembers what this process stores, if it drives the loop. */
export function hold(files: LoopFiles, loopId: string, name: string, is: string): void {
  const memory = memories.get(files.evidence);
  if (memory && HELD.some((held) => held === name))
    memory.digests.set(name, { is, accepted: acceptedOf(files, loopId) });
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
