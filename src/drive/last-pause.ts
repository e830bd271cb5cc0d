import type { PauseReason } from '../core/schema/state.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { readTail } from '../state/read-tail.ts';

/** The pauses that a person made, and that only a person ends. */
export type UsersPause = Extract<PauseReason, 'operator' | 'interrupted'>;

const TAIL_BYTES = 64 * 1024;
/** Events that say whether a loop goes on. What else is told of a paused loop (steering, notices) ends no pause. */
const SAYS_SO = /^(?:loop|iteration)\./;

/** How the user paused this loop, when its events journal says nothing later of its going on; null otherwise. */
export function lastPause(files: LoopFiles, loopId: string): UsersPause | null {
  let found: UsersPause | null = null;
  readTail(files.events, TAIL_BYTES, (line) => {
    let event: { type?: unknown; loopId?: unknown; reason?: unknown } | null;
    try {
      event = JSON.parse(line);
    } catch {
      return false; // a torn line of a process that died
    }
    if (event?.loopId !== loopId || typeof event.type !== 'string' || !SAYS_SO.test(event.type)) return false;
    const { type, reason } = event;
    if (type === 'loop.paused' && (reason === 'operator' || reason === 'interrupted')) found = reason;
    return true;
  });
  return found;
}
