import type { StateOf } from '../../engine/schema/state.ts';
import { listArchive } from '../../state/archive.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { shorten } from '../../text/excerpt.ts';
import { advise } from '../../text/message.ts';

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
export function unheard({ steering, ended, name, mode }: StateOf<'ended'>): string | null {
  if (steering.length === 0) return null;
  const words = steering.map(({ text }) => `"${shorten(text.replace(/\s+/g, ' ').trim(), SHOWN)}"`).join(', ');
  const text = `The loop ended before the agent received your messages: ${words}.`;
  if (ended.as === 'complete') return `${text} Put them into the task of the next loop.`;
  return show(advise(`${text} They are kept.`, 'Resume', 'resume'), { name, mode });
}
