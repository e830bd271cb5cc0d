import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EventOf } from '../../engine/events.ts';
import { needsMessage } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { apiError } from '../../engine/transition.ts';
import type { Transition } from '../../engine/transitions/build.ts';
import { interrupted } from '../../engine/transitions/user-turn.ts';
import { interruptedAt, wasInterrupted } from '../../hosts/claude/transcript/transcript.ts';
import { rolloutError } from '../../hosts/codex/rollout.ts';
import { countOf, type Fields } from '../../hosts/fields.ts';
import { endsCancelled } from '../../hosts/gemini/payload.ts';
import { readBackwards } from '../../state/event-stream.ts';
import { ifOutOfReach, readRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, type ReadState, readState } from '../../state/loop-files.ts';
import { instantOf, isBefore } from '../../text/time.ts';
import { clientAlive } from './ownership.ts';

/** Reads the state of a loop as it is now: paused if the last turn of its session has ended without a hook. */
export function presentState(files: LoopFiles): ReadState {
  const current = readState(files.state);
  return current.kind === 'loop' ? { ...current, state: withLostTurn(current.state).state } : current;
}

/** Pauses a loop whose last turn has ended without a hook; after a cut answer to the user (Esc), it waits for the next one. */
export function withLostTurn(state: LoopState): Transition {
  if (state.status === 'running' && isAnswerLost(state)) return { state: { ...state, turn: 'rest' }, effects: [] };
  // Codex ends a waiting hook without a signal, and Gemini CLI forgets it. A message is answered, and the wait continues.
  const lost = lostTurn(state, ['running', 'paused', 'waiting', 'verifying']);
  if (lost === null || state.status === 'ended') return { state, effects: [] };
  return lost.type === 'interrupted' ? interrupted(state, lost) : apiError(state, lost);
}

/** Returns what ended the turn without a hook, by the transcript: the user (Esc), or an API error in Codex; null if nothing did. */
export function lostTurn(
  state: LoopState,
  among: readonly LoopState['status'][] = ['running', 'paused'],
): EventOf<'interrupted' | 'api-error'> | null {
  const { mode, status, turn, lastDecision, marks } = state;
  const isOurs = turn === 'agent' || (turn === 'rest' && status === 'waiting');
  const mayWork = mode === 'hook' && isOurs && among.includes(status);
  if (!mayWork || !clientAlive(state) || marks.transcriptPath === null || lastDecision === null) return null;
  const at = interruptedAt(marks.transcriptPath, lastDecision.at);
  if (at !== null) return { type: 'interrupted', at, by: 'signal' };
  const error = status === 'running' ? rolloutError(marks.transcriptPath) : null;
  return error?.at && isBefore(lastDecision.at, error.at) ? { type: 'api-error', at: error.at, error } : null;
}

function isAnswerLost({ mode, turn, promptId, marks }: LoopState): boolean {
  const path = marks.transcriptPath;
  if (mode !== 'hook' || turn !== 'user' || path === null) return false;
  // Gemini CLI gives its turns no ids, so only the last one can be meant.
  const hasTurnIds = promptId !== null;
  return hasTurnIds ? wasInterrupted(path, promptId) : endsCancelled(path);
}

/** What the driver of a running loop waits for: the agent's background work, or the next attempt after a failed one. */
export interface DriverWait {
  readonly why: 'background' | 'retry';
  readonly until: string;
}

/** Size of the stream's end that contains a wait in progress. */
const NEWEST_BYTES = 64 * 1024;
const SURROUNDING = ['background.', 'wait.', 'turn.', 'iteration.', 'loop.'];

/** Returns what the driver of a session or runner waits for in the middle of an iteration; null if it does not wait. */
export function driverWait({ status, loopId }: LoopState, files: LoopFiles, at: string): DriverWait | null {
  if (status !== 'running') return null;
  const { type, why, until } = readBackwards(files, loopId, NEWEST_BYTES, SURROUNDING, (event) => event) ?? {};
  if (!isBefore(at, String(until))) return null;
  if (type === 'background.awaited') return { why: 'background', until: String(until) };
  return type === 'wait.started' && why === 'retry' ? { why, until: String(until) } : null;
}

/** Client's status while one of its menus is open, as by `/config`; the agent continues to work. */
const MENU = 'dialog open';
/** Time for which a client must have been idle before no turn is about to begin: it records a new turn late. */
const AT_REST_MS = 15_000;

/** Returns what a loop's client needs from its user, by its own record (measured): after `/plan` it starts no turn. */
export function awaitedOfUser(state: LoopState): 'dialog' | 'message' | null {
  if (needsMessage(state)) return 'message';
  const record = clientRecord(state);
  if (record === null || record['sessionId'] !== state.sessionId) return null;
  if (record['status'] === 'waiting') return record['waitingFor'] === MENU ? null : 'dialog';
  const isAtRest = record['status'] === 'idle' && Date.now() - countOf(record['statusUpdatedAt']) > AT_REST_MS;
  return isAtRest && state.turn === 'user' ? 'message' : null;
}

/** Returns Claude Code's record of the client of a live loop; null without one, as in Codex and Gemini CLI. */
function clientRecord({ mode, status, clientPid, marks }: LoopState): Fields | null {
  const isLive = mode === 'hook' && (status === 'running' || status === 'waiting');
  if (!isLive || clientPid === null || marks.transcriptPath === null) return null;
  return readRecord<Fields>(join(dirname(marks.transcriptPath), '..', '..', 'sessions', `${clientPid}.json`));
}

/** Time without a new entry after which a client that records no dialogs may show one. */
const SILENT_MS = 60_000;

/**
 * Returns since when the transcript of a working agent has had no new entry, if for more than a minute and if its client records no
 * dialogs: it may wait for its user. Null otherwise.
 */
export function silentSince(state: LoopState): string | null {
  const path = state.marks.transcriptPath;
  if (state.mode !== 'hook' || state.status !== 'running' || state.turn !== 'agent' || path === null) return null;
  const written = clientRecord(state) === null ? ifOutOfReach(() => statSync(path).mtimeMs, null) : null;
  return written !== null && Date.now() - written > SILENT_MS ? instantOf(written) : null;
}
