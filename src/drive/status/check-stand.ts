import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, readBackwards } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Status of a loop's checks. */
export interface CheckStand {
  /** Name of the check that runs now; null if none does. */
  readonly running: string | null;
  /** Result of the last verification: the last check that failed, or else the last one; null if none has run. */
  readonly last: { readonly name: string; readonly outcome: string; readonly tail: string } | null;
}

/** Size of the stream's end that is read; more than two iterations write. */
const BUDGET = 8 * 1024 * 1024;

/** Reads the status of the checks from the end of the stream. */
export function checkStand(files: LoopFiles, loopId: string, status: LoopState['status'] | string): CheckStand {
  let running: string | null = null;
  const results: Entry[] = [];
  let isOver = status !== 'verifying';
  readBackwards(files, loopId, BUDGET, ['check.', 'iteration.ended', 'loop.started'], (event) => {
    const { type } = event;
    if (type === 'check.started' && !isOver) running = String(event['name']);
    if (type === 'check.ran') results.push(event);
    isOver = true;
    return type === 'loop.started' || (type === 'iteration.ended' && results.length > 0);
  });
  const shown = results.find(({ outcome }) => outcome !== 'ok') ?? results[0];
  if (shown === undefined) return { running, last: null };
  const [name, outcome, tail] = ['name', 'outcome', 'tail'].map((key) => String(shown[key] ?? ''));
  return { running, last: { name: name ?? '', outcome: outcome ?? '', tail: tail ?? '' } };
}
