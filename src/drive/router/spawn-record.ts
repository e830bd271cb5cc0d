import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { LoopState } from '../../engine/schema/state.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import type { SpawnAnswer } from './router.ts';

/** Spawn that was assigned last. Stored outside the project, where the agent does not write. */
export interface SpawnRecord {
  readonly loopId: string;
  /** Epoch of its holder; the next holder assigns a new one. */
  readonly epoch: number;
  readonly answer: Omit<SpawnAnswer, 'notes' | 'next' | 'promptFile'>;
  /** Its report was counted. The state says so too, unless it was rewritten. */
  readonly heard: boolean;
  /** Subagent whose report was counted last, if the host named it; it is not counted again. */
  readonly heardOf: string | null;
  /** Number of texts without a spawn number that may repeat the previous report. */
  readonly doubts: number;
  /** Number of subagents that could not work on it, and when the next one may start. */
  readonly failures?: number;
  readonly retryAt?: string | undefined;
}

/** Stores a spawn. Called under the lock of the loop’s state. Throws system errors. */
export function writeSpawn(files: LoopFiles, record: SpawnRecord): void {
  writeRecord(files.spawn, record);
}

/** Returns the last spawn of the last router loop here, or null. Never throws. */
export function readSpawn(files: LoopFiles): SpawnRecord | null {
  const record = readRecord<SpawnRecord>(files.spawn);
  return checkShape(record, shapes.spawn) === null ? (record as SpawnRecord) : null;
}

/** Mark of a spawn. The state is in the project, so a number beyond any loop is ignored. */
const TOLD = /^spawn (\d{1,6})$/;

/** Returns the mark by which the engine counts a spawn’s turn once. */
export function spawnMark(spawn: number): string {
  return `spawn ${spawn}`;
}

/** Returns the number of the last spawn, 0 without one. If the record is lost, the state names the last report. */
export function lastSpawn(files: LoopFiles, { loopId, lastTurn }: LoopState): number {
  const record = readSpawn(files);
  const told = Number(TOLD.exec(lastTurn?.transcriptMark ?? '')?.[1] ?? 0);
  if (record?.loopId === loopId) return Math.max(record.answer.spawn, told);
  return told === 0 ? 0 : told + 1;
}

export function isReported(record: SpawnRecord, state: LoopState): boolean {
  return record.heard || state.lastTurn?.transcriptMark === spawnMark(record.answer.spawn);
}

export function assignedSpawn(files: LoopFiles, state: LoopState): SpawnRecord | null {
  const record = readSpawn(files);
  if (record?.loopId !== state.loopId || record.epoch !== state.epoch) return null;
  return isReported(record, state) ? null : record;
}

/** Updates a spawn, unless another holder has assigned a newer one. */
export function updateSpawn(
  files: LoopFiles,
  of: SpawnRecord,
  more: Partial<Pick<SpawnRecord, 'heard' | 'heardOf' | 'doubts' | 'failures' | 'retryAt'>>,
): void {
  withState(files, LOCK_WAIT, () => {
    const now = readSpawn(files);
    const same = now?.loopId === of.loopId && now.epoch === of.epoch && now.answer.spawn === of.answer.spawn;
    if (same) writeSpawn(files, { ...now, ...more });
    return { next: 'keep', result: undefined };
  });
}

/** Reassigns a script's spawn to the process that continues for it: in CI, each call is a new holder. */
export function reassign(files: LoopFiles, state: LoopState, epoch: number): void {
  const inHand = assignedSpawn(files, state);
  if (inHand !== null) writeSpawn(files, { ...inHand, epoch });
}
