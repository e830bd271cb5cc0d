import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';

/** Heard within half a second. */
const LOOK_MS = 330;

/**
 * Does what takes its time, such as the commands of a task, unless what comes of it is for nobody. `aborted`: the signal
 * said go. `overtaken`: somebody has ended or paused the loop, or wants it to stop before its next iteration. Then the
 * work's own signal is aborted, and this resolves once the work has given up. `state` is the loop as the driver saved
 * it. Rejects with every other failure of the work.
 */
export async function unlessOvertaken<T>(
  files: LoopFiles,
  state: LoopState,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | 'aborted' | 'overtaken'> {
  const word = new AbortController();
  const looking = setInterval(() => {
    if (isOvertaken(files, state)) word.abort();
  }, LOOK_MS);
  try {
    const done = await work(AbortSignal.any([signal, word.signal]));
    return signal.aborted ? 'aborted' : done;
  } catch (error) {
    if (signal.aborted) return 'aborted';
    if (word.signal.aborted) return 'overtaken';
    throw error;
  } finally {
    clearInterval(looking);
  }
}

function isOvertaken(files: LoopFiles, before: LoopState): boolean {
  try {
    const current = readState(files.state);
    // A file that is none of ours, or cannot be read, is for whoever decides next.
    if (current.kind !== 'loop') return current.kind === 'absent';
    const { loopId, status, stopRequested } = current.state;
    if (loopId !== before.loopId || status !== before.status) return true;
    // A claim is checked to its end: completion comes before a stop.
    return stopRequested && before.status === 'running';
  } catch {
    return false; // a disk that fails now may work at the next look
  }
}
