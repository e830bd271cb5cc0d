import type { LoopFiles } from '../../src/state/loop-files.ts';
import { readAllLines } from '../../src/state/read-all-lines.ts';

/** The records of the loop that `loopId` names, or of the one that was recorded last, oldest first; and unreadable lines. */
export function lastIterations(files: LoopFiles, loopId?: string): ReturnType<typeof readAllLines> {
  const { entries, torn } = readAllLines(files.iterations);
  const wanted = loopId ?? entries.at(-1)?.['loopId'];
  return { entries: entries.filter((entry) => entry['loopId'] === wanted), torn };
}
