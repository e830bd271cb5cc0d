import { join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { EndReport } from '../../engine/end-report.ts';
import { bindSession } from '../../engine/initial-state.ts';
import type { Tell } from '../../engine/runner-event.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { SpawnRecord } from '../../engine/schema/records.ts';
import type { LoopState, TerminalStatus } from '../../engine/schema/state.ts';
import type { HostSession } from '../../hosts/claude/host-session.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import { awaitHold, clearHold } from '../../state/lock/hold.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { withState } from '../../state/with-state.ts';
import { clientAlive } from '../control/ownership.ts';
import type { Turn } from '../turn/turn.ts';

export interface RouterOptions {
  /** Environment of the host, in which checks and commands run. */
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => string;
  /** Program as words for the host's shell. */
  readonly program: string;
  readonly options: string;
  /** Epoch milliseconds until which this call may wait; the host waits longer. */
  readonly sitUntil: number;
  /** Aborted when the call has to end or its client has exited. The loop stays as it is. */
  readonly signal: AbortSignal;
  readonly tell: Tell;
}

export interface Router {
  readonly files: LoopFiles;
  readonly options: RouterOptions;
  readonly turn: Turn;
  readonly notes: string[];
}

/** Thrown when this process has to exit before there is an answer. */
export class RouterLeft extends Error {}

type WaitReason = 'idle' | 'pace' | 'paused' | 'awaiting-consent' | 'working' | 'retry';

interface About {
  readonly loopId: string | null;
  /** Name of the loop; null for the project's default loop. */
  readonly loop: string | null;
  readonly notes: readonly string[];
  /** Instructions for the host, with the exact command to call. */
  readonly next: string;
}

/** Work for a subagent. The same spawn is returned until it is reported. */
export interface SpawnAnswer extends About, Omit<SpawnRecord['answer'], keyof About> {
  /** File that holds the prompt, relative to the project; null if it could not be written. */
  readonly promptFile: string | null;
}

export interface WaitAnswer extends About {
  readonly action: 'wait';
  readonly why: WaitReason;
  /** ISO-8601 instant in UTC at which the wait ends; null if time does not end it. */
  readonly until: string | null;
  /** Seconds from now to `until`, rounded up; null as above. */
  readonly seconds: number | null;
  /** Milliseconds from now to `until`; null without one. */
  readonly delayMs: number | null;
  readonly message: string;
  readonly commands?: readonly string[];
  /** For a paused loop: the exit code that `run` would have. */
  readonly exitCode?: number;
}

/** Answer if the loop has ended or this host does not hold it. */
export interface StopAnswer extends About {
  readonly action: 'stop';
  /** End of the loop. `busy`: another session drives it. `none`: there is no loop. */
  readonly status: TerminalStatus | 'busy' | 'none';
  readonly message: string;
  /** True if the completion has a proof other than `none`. */
  readonly verified: boolean;
  /** What a completion rests on; null for every other end. */
  readonly proof: Proof | null;
  readonly exitCode: number;
  /** Absent for a loop that has not ended. */
  readonly report?: EndReport;
  readonly holder?: { readonly sessionId: string | null; readonly pid: number | null };
}

export type RouterAnswer = SpawnAnswer | WaitAnswer | StopAnswer;

/** Returns the last spawn of the last router loop here, or null. Never throws. */
export function readSpawn(files: LoopFiles): SpawnRecord | null {
  const record = readRecord<SpawnRecord>(files.spawn);
  return checkShape(record, shapes.spawn) === null ? (record as SpawnRecord) : null;
}

/** Mark of a spawn. The agent can write the state, so numbers beyond the range of any loop are ignored. */
const TOLD = /^spawn (\d{1,6})$/;

/** Returns the mark by which the engine counts a spawn's turn once. */
export function spawnMark(spawn: number): string {
  return `spawn ${spawn}`;
}

/** Returns the number of the last spawn whose report was counted, 0 without one. */
export function countedSpawn({ lastTurn }: LoopState): number {
  return Number(TOLD.exec(lastTurn?.transcriptMark ?? '')?.[1] ?? 0);
}

/** Returns the number of the last spawn, 0 without one. If the record is lost, the state names the last report. */
export function lastSpawn(files: LoopFiles, state: LoopState): number {
  const record = readSpawn(files);
  const told = countedSpawn(state);
  if (record?.loopId === state.loopId) return Math.max(record.answer.spawn, told);
  return told === 0 ? 0 : told + 1;
}

/** Returns the project file that holds the prompt of a loop's last spawn. */
export function promptPath({ runtimeDir, name }: LoopFiles): string {
  return join(runtimeDir, `ralph-prompt${name === null ? '' : `.${name}`}.md`);
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
  withState(files, () => {
    const now = readSpawn(files);
    const same = now?.loopId === of.loopId && now.epoch === of.epoch && now.answer.spawn === of.answer.spawn;
    if (same) writeRecord(files.spawn, { ...now, ...more });
    return { next: 'keep', result: undefined };
  });
}

/** The holder as seen from a host. `free`: none, or its client has exited. `unseen`: its client is not visible here. */
export type Hold = 'mine' | 'free' | 'theirs' | 'unseen';

export function holdOf(state: LoopState, host: HostSession): Hold {
  if (state.sessionId === null) return 'free';
  const sameSession = state.sessionId === host.sessionId;
  const known = state.clientPid !== null && host.clientPid !== null;
  if (known && state.clientPid === host.clientPid && state.clientStartedAt === host.clientStartedAt) return 'mine';
  if (sameSession && !known) return 'mine';
  // A host in a sandbox that cannot see its own client cannot see any other client either.
  if (!known) return 'unseen';
  return clientAlive(state) ? 'theirs' : 'free';
}

/** Binds the loop to this host. A new holder gets a new epoch, which fences off writes by the old one. */
export function withHolder(state: LoopState, host: HostSession, hold: 'mine' | 'free'): LoopState {
  const epoch = hold === 'free' ? state.epoch + 1 : state.epoch;
  // A process that is not visible from here keeps its recorded identity.
  const { clientPid, clientStartedAt } = state;
  const seen = host.clientPid === null && hold === 'mine' ? { ...host, clientPid, clientStartedAt } : host;
  return { ...bindSession(state, seen), epoch };
}

/** Takes the lock that serialises the calls of holder `epoch`. Returns its release, or null if busy at `until`. Rejects on abort. */
export async function takeBusyLock(
  files: LoopFiles,
  epoch: number,
  until: number,
  signal: AbortSignal,
): Promise<(() => void) | null> {
  const pathOf = (of: number): string =>
    join(files.outsideDir, `router${files.name === null ? '' : `.${files.name}`}.at-work.${of}`);
  clearHold(pathOf(epoch - 1));
  const hold = await awaitHold(pathOf(epoch), until - Date.now(), signal);
  return hold?.release ?? null;
}
