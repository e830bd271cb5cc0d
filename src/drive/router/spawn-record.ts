import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopState } from '../../core/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readRegularFile } from '../../state/read-regular-file.ts';
import { writeAtomically } from '../../state/write-atomically.ts';
import type { SpawnAnswer } from './answer.ts';

/** The piece of work that was handed out last. It lies outside the project, where the agent does not write. */
export interface SpawnRecord {
  readonly loopId: string;
  /** The holder that it was handed to: one that takes the loop over hands out anew. */
  readonly epoch: number;
  readonly answer: Omit<SpawnAnswer, 'notes' | 'next'>;
  /** Its report was heard. The state says so too, unless somebody rewrote that. */
  readonly heard: boolean;
  /** How many times a text came without the number of its spawn that may have been the last one's once more. */
  readonly doubts: number;
}

/** A prompt with the output of a task's commands comes to less. */
const MOST_BYTES = 64 * 1024 * 1024;

function recordPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `router${name === null ? '' : `.${name}`}.json`);
}

/** Throws what the system says. */
export function writeSpawn(files: LoopFiles, record: SpawnRecord): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(recordPath(files), `${JSON.stringify(record)}\n`, 0o600);
}

/** The last piece of work of the last router loop here, or null. Never throws. */
export function readSpawn(files: LoopFiles): SpawnRecord | null {
  try {
    const record = JSON.parse(readRegularFile(recordPath(files), MOST_BYTES) ?? 'null') as SpawnRecord | null;
    return Number.isInteger(record?.answer?.spawn) && typeof record?.loopId === 'string' ? record : null;
  } catch {
    return null; // half of one, which no writer of ours leaves
  }
}

/** How the engine knows the turn that a spawn is: the same one told twice counts once. */
export function spawnMark(spawn: number): string {
  return `spawn ${spawn}`;
}

/** Whether the report of this very spawn has been heard. */
export function isHeard(record: SpawnRecord, state: LoopState): boolean {
  return record.heard || state.lastTurn?.transcriptMark === spawnMark(record.answer.spawn);
}

/** The piece of work that this loop's holder has in hand, or null. */
export function spawnInHand(files: LoopFiles, state: LoopState): SpawnRecord | null {
  const record = readSpawn(files);
  if (record?.loopId !== state.loopId || record.epoch !== state.epoch) return null;
  return isHeard(record, state) ? null : record;
}

/**
 * Gives what a script had in hand to the one that goes on for it, under its `epoch`. Who is known by a process that may
 * live for one call only, as in a job of steps, would be handed out new work at each call, and no report would count.
 */
export function handOver(files: LoopFiles, state: LoopState, epoch: number): void {
  const inHand = spawnInHand(files, state);
  if (inHand !== null) writeSpawn(files, { ...inHand, epoch });
}
