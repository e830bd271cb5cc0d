import { existsSync, readFileSync } from 'node:fs';
import { readLines } from '../../state/files/journal-lines.ts';
import { regularFile } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Returns the session's cost in US dollars, which the client reports to its status line; null if unknown. */
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

/** Stores the session's cost for the next Stop. Written only on a change, since it is reported every second. */
export function storeCost(files: LoopFiles, payload: string, at: string): void {
  let session: unknown;
  let cost: unknown;
  try {
    const parsed = JSON.parse(payload) as { session_id?: unknown; cost?: { total_cost_usd?: unknown } };
    session = parsed.session_id;
    cost = parsed.cost?.total_cost_usd;
  } catch {
    return; // a status line run by hand has no payload
  }
  if (typeof session !== 'string' || typeof cost !== 'number' || !(cost >= 0)) return;
  if (readCost(files, session) === cost) return;
  try {
    writeAtomically(files.cost, `${JSON.stringify({ sessionId: session, costUsd: cost, at })}\n`);
  } catch {
    // no runtime directory yet, or a full disk: the cost is then unknown
  }
}

interface CallCounts {
  readonly toolCalls: number;
  readonly deniedCalls: number;
  readonly failedShellCalls: number;
  readonly next: number;
}

/** Counts calls since byte `from`. If `outcomesKnown`, a call neither done nor failed was denied by the client. */
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
