import { existsSync, readFileSync } from 'node:fs';
import type { LoopFiles } from '../../state/loop-files.ts';
import { regularFile } from '../../state/regular-file.ts';

/**
 * The client's own cost figure for this session in US dollars, as our status line last heard it; null while nobody
 * told us. The status line is the only place where the client says it.
 */
export function readCost(files: LoopFiles, sessionId: string): number | null {
  if (!existsSync(files.cost)) return null;
  try {
    const { sessionId: owner, costUsd } = JSON.parse(readFileSync(regularFile(files.cost), 'utf8')) as Record<
      string,
      unknown
    >;
    return owner === sessionId && typeof costUsd === 'number' && costUsd >= 0 ? costUsd : null;
  } catch {
    return null;
  }
}
