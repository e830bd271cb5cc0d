import type { LoopFiles } from '../../state/loop-files.ts';
import { readLines } from '../../state/read-lines.ts';

export interface CallCounts {
  readonly toolCalls: number;
  readonly deniedCalls: number;
  readonly failedShellCalls: number;
  /** Where the next count starts. */
  readonly next: number;
}

/**
 * Tool calls since byte `from` of the calls journal, and how many of them were denied: by our guard, or, where
 * `outcomesKnown`, by the client (a call that was asked for and neither done nor failed).
 */
export function readCalls(files: LoopFiles, loopId: string, from: number, outcomesKnown: boolean): CallCounts {
  const lines = readLines(files.calls, from);
  const asked = new Set<unknown>();
  const denied = new Set<unknown>();
  let failedShellCalls = 0;
  for (const { loopId: owner, callId, phase, tool } of lines.entries) {
    if (owner !== loopId) continue;
    asked.add(callId);
    if (phase === 'denied' || (phase === 'asked' && outcomesKnown)) denied.add(callId);
    if (phase === 'failed' && (tool === 'Bash' || tool === 'PowerShell')) failedShellCalls += 1;
    if (phase === 'done' || phase === 'failed') denied.delete(callId);
  }
  return { toolCalls: asked.size, deniedCalls: denied.size, failedShellCalls, next: lines.next };
}
