import type { StateOf } from '../../engine/schema/state.ts';
import { listArchive } from '../../state/archive.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { shorten } from '../../text/excerpt.ts';

/** Returns how a loop ended, from the archive; null if it is not there. */
export function endedLoop(files: LoopFiles, loopId: string): StateOf<'ended'>['ended'] | null {
  return endedState(files, loopId)?.ended ?? null;
}

/** Returns the whole last state of a loop that has ended, from the archive; null if it is not there. */
export function endedState(files: LoopFiles, loopId: string): StateOf<'ended'> | null {
  for (const { content } of listArchive(files).reverse()) {
    if (content.kind === 'loop' && content.state.loopId === loopId && content.state.status === 'ended') {
      return content.state;
    }
  }
  return null;
}

const SHOWN = 300;

/**
 * Lists the user's messages that the agent did not receive before the loop ended, oldest first, and what becomes of
 * them; null if there are none.
 */
export function unheard({ steering, ended }: StateOf<'ended'>): string | null {
  if (steering.length === 0) return null;
  const words = steering.map(({ text }) => `"${shorten(text.replace(/\s+/g, ' ').trim(), SHOWN)}"`).join(', ');
  const next =
    ended.as === 'complete'
      ? 'Say it in the task of the next loop.'
      : 'It is kept: ralph-loop start --resume goes on with it.';
  return `the loop ended before the agent heard what you said: ${words}. ${next}`;
}
