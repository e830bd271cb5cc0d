import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { LoopState } from '../../engine/schema/state.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { SpawnAnswer } from './router.ts';

/** The piece of work that was handed out last. It lies outside the project, where the agent does not write. */
export interface SpawnRecord {
  readonly loopId: string;
  /** The holder that it was handed to: one that takes the loop over hands out anew. */
  readonly epoch: number;
  readonly answer: Omit<SpawnAnswer, 'notes' | 'next' | 'promptFile'>;
  /** Its report was heard. The state says so too, unless somebody rewrote that. */
  readonly heard: boolean;
  /** The subagent whose report was heard last in this loop, where the host named it; it is not heard once more. */
  readonly heardOf: string | null;
  /** How many times a text came without the number of its spawn that may have been the last one's once more. */
  readonly doubts: number;
}

/** A prompt with the output of a task's commands comes to less. */
const MOST_BYTES = 64 * 1024 * 1024;

function recordPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `router${name === null ? '' : `.${name}`}.json`);
}

/** To be called under the lock of the loop's state. Throws what the system says. */
export function writeSpawn(files: LoopFiles, record: SpawnRecord): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  writeAtomically(recordPath(files), `${JSON.stringify(record)}\n`, 0o600);
}

/** The last piece of work of the last router loop here, or null. Never throws. */
export function readSpawn(files: LoopFiles): SpawnRecord | null {
  try {
    const record: unknown = JSON.parse(readRegularFile(recordPath(files), MOST_BYTES) ?? 'null');
    return checkShape(record, shapes.spawn) === null ? (record as SpawnRecord) : null;
  } catch {
    return null; // half of one, which no writer of ours leaves
  }
}

/** The state lies in the project: more than a loop can have is nobody's word. */
const TOLD = /^spawn (\d{1,6})$/;

/** How the engine knows the turn that a spawn is: the same one told twice counts once. */
export function spawnMark(spawn: number): string {
  return `spawn ${spawn}`;
}

/**
 * The last number that was handed out in this loop, 0 where none was. Where the record is lost, the state names the last
 * spawn that was told, and the one after it may be in somebody's hand.
 */
export function lastSpawn(files: LoopFiles, { loopId, lastTurn }: LoopState): number {
  const record = readSpawn(files);
  const told = Number(TOLD.exec(lastTurn?.transcriptMark ?? '')?.[1] ?? 0);
  if (record?.loopId === loopId) return Math.max(record.answer.spawn, told);
  return told === 0 ? 0 : told + 1;
}

/** Whether the report of this very spawn has been heard. */
export function isReported(record: SpawnRecord, state: LoopState): boolean {
  return record.heard || state.lastTurn?.transcriptMark === spawnMark(record.answer.spawn);
}

/** The piece of work that this loop's holder has in hand, or null. */
export function assignedSpawn(files: LoopFiles, state: LoopState): SpawnRecord | null {
  const record = readSpawn(files);
  if (record?.loopId !== state.loopId || record.epoch !== state.epoch) return null;
  return isReported(record, state) ? null : record;
}

/** Notes more of a piece of work, unless another holder has handed out one meanwhile: that stands. */
export function updateSpawn(
  files: LoopFiles,
  of: SpawnRecord,
  more: Partial<Pick<SpawnRecord, 'heard' | 'heardOf' | 'doubts'>>,
): void {
  withState(files, LOCK_WAIT, () => {
    const now = readSpawn(files);
    const same = now?.loopId === of.loopId && now.epoch === of.epoch && now.answer.spawn === of.answer.spawn;
    if (same) writeSpawn(files, { ...now, ...more });
    return { next: 'keep', result: undefined };
  });
}

/**
 * Gives what a script had in hand to the one that goes on for it, under its `epoch`; to be called under the lock. Who is
 * known by a process that may live for one call only, as in a job of steps, would be handed out new work at each call,
 * and no report would count.
 */
export function reassign(files: LoopFiles, state: LoopState, epoch: number): void {
  const inHand = assignedSpawn(files, state);
  if (inHand !== null) writeSpawn(files, { ...inHand, epoch });
}
