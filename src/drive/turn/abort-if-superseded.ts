import { sleptText } from '../../engine/messages.ts';
import { timeReading } from '../../engine/policy/loop-time.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { orLogged, readState } from '../../state/loop-files.ts';
import { lookAtClock, watchSleep } from '../../state/process/sleep-watch.ts';
import { elapsed, instantOf } from '../../text/time.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { dispatch, type Turn } from './turn.ts';

const POLL_MS = 330;

/** Runs slow work; aborts it once the loop has changed or used its time (`superseded`), or the driver has to exit (`aborted`). */
export async function abortIfSuperseded<T>(
  turn: Pick<Turn, 'context' | 'loaded' | 'signal'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | 'aborted' | 'superseded'> {
  const signal = turn.signal();
  const superseded = new AbortController();
  const timer = setInterval(() => {
    if (isSuperseded(turn)) superseded.abort();
  }, POLL_MS);
  try {
    const result = await work(AbortSignal.any([signal, superseded.signal]));
    return signal.aborted ? 'aborted' : result;
  } catch (error) {
    if (signal.aborted) return 'aborted';
    if (superseded.signal.aborted) return 'superseded';
    throw error;
  } finally {
    clearInterval(timer);
  }
}

const isUnclaimed = (state: LoopState): boolean => state.status === 'verifying' && state.verifying.unclaimed === true;

function isSuperseded({
  context: { files },
  loaded: { state: before, policy },
}: Pick<Turn, 'context' | 'loaded'>): boolean {
  lookAtClock();
  try {
    const current = readState(files.state);
    // An unreadable file, or another program's, is left to the next decision.
    if (current.kind !== 'loop') return current.kind === 'absent';
    const { loopId, status, stopRequested } = current.state;
    if (loopId !== before.loopId || status !== before.status) return true;
    if (timeReading(current.state, policy.budget, instantOf(Date.now())) !== null) return true;
    // A claim is checked to the end: completion takes precedence over a stop.
    return stopRequested && (before.status === 'running' || isUnclaimed(before));
  } catch {
    return false; // a failing disk may work at the next poll
  }
}

/**
 * Excludes all time in which the machine sleeps or this process is stopped from the time of a turn's loop, and tells the
 * user about it. Returns a function that ends this.
 */
export function leaveOutSleep(turn: Turn, tell: (text: string) => void = () => undefined): () => void {
  const note = (since: string): void => {
    const text = noteSleep(turn, since);
    if (text !== null) tell(text);
  };
  return watchSleep(note);
}

/** Notes a sleep. Returns null if the loop was paused, is over, or its state cannot be written now, which is logged. */
function noteSleep(turn: Turn, since: string): string | null {
  const { files, now } = turn.context;
  const at = now();
  const noted = orLogged(files, at, 'sleep', () => {
    const { effects } = dispatch(turn, { type: 'slept', at, since });
    const recorded = effects.filter(({ type }) => type === 'record-event');
    applyEffects(files, at, recorded);
    return recorded.length > 0;
  });
  return noted === true ? sleptText(elapsed(since, at)) : null;
}
