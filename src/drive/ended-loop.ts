import type { StateOf } from '../core/schema/state.ts';
import { listArchive } from '../state/archive.ts';
import type { LoopFiles } from '../state/loop-files.ts';

/** How this loop ended, as the archive has it; null when it does not hold it. */
export function endedLoop(files: LoopFiles, loopId: string): StateOf<'ended'>['ended'] | null {
  return endedState(files, loopId)?.ended ?? null;
}

/** The whole last state of this loop, which has ended, as the archive has it; null when it does not hold it. */
export function endedState(files: LoopFiles, loopId: string): StateOf<'ended'> | null {
  for (const { content } of listArchive(files).reverse()) {
    if (content.kind === 'loop' && content.state.loopId === loopId && content.state.status === 'ended') {
      return content.state;
    }
  }
  return null;
}
