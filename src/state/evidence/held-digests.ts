import { sha256 } from '../hash-contract.ts';
import type { LoopFiles } from '../loop-files.ts';
import { noticesOf } from '../notices.ts';
import type { EvidenceName } from './entries.ts';
import { readManifest } from './manifest.ts';

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

/** Digests of the loops that this process drives, by the path of their manifest. */
const memories = new Map<string, Map<string, HeldDigest>>();

/** Remembers the entries of a loop that this process begins to drive. Returns a function that forgets them. */
export function holdEvidence(files: LoopFiles, loopId: string): () => void {
  const { entries } = readManifest(files, loopId);
  memories.set(files.evidence, new Map());
  for (const [name, { is }] of Object.entries(entries)) hold(files, loopId, name, is);
  return () => void memories.delete(files.evidence);
}

/** Remembers what this process stores, if it drives the loop. */
export function hold(files: LoopFiles, loopId: string, name: string, is: string): void {
  const memory = memories.get(files.evidence);
  if (memory && HELD.some((held) => held === name)) memory.set(name, { is, accepted: acceptedOf(files, loopId) });
}

/**
 * Returns whether an entry is as this process left it, or as the user has accepted it since, which every report names. True
 * in a process that does not drive the loop.
 */
export function isAsHeld(files: LoopFiles, loopId: string, name: string, bytes: Buffer): boolean {
  const held = memories.get(files.evidence)?.get(name);
  const is = held && sha256(bytes);
  if (is === undefined || held?.is === is) return true;
  if (acceptedOf(files, loopId) === held?.accepted) return false;
  hold(files, loopId, name, is);
  return true;
}

function acceptedOf(files: LoopFiles, loopId: string): number {
  return noticesOf(files, loopId).filter(({ kind }) => kind === 'accept').length;
}
