import { listArchive } from '../state/archive.ts';
import type { LoopFiles } from '../state/loop-files.ts';

/** What the archive says of how this loop ended, or null when it does not hold it. */
export function endedMessage(files: LoopFiles, loopId: string): string | null {
  for (const { content } of listArchive(files).reverse()) {
    if (content.kind === 'loop' && content.state.loopId === loopId && content.state.status === 'ended') {
      return content.state.ended.message;
    }
  }
  return null;
}
