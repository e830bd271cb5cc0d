import { readFileSync } from 'node:fs';
import type { LoopFiles } from '../state/loop-files.ts';
import { regularFile } from '../state/regular-file.ts';
import { writeAtomically } from '../state/write-atomically.ts';

/**
 * Keeps the client's cost figure, which it tells to nobody but its status line, for the next Stop. Written only when
 * it changed: the status line runs every second.
 */
export function keepCost(files: LoopFiles, payload: string, at: string): void {
  let session: unknown;
  let cost: unknown;
  try {
    const parsed = JSON.parse(payload) as { session_id?: unknown; cost?: { total_cost_usd?: unknown } };
    session = parsed.session_id;
    cost = parsed.cost?.total_cost_usd;
  } catch {
    return; // a status line run by hand has nothing to say
  }
  if (typeof session !== 'string' || typeof cost !== 'number' || !(cost >= 0)) return;
  if (keptAlready(files.cost, session, cost)) return;
  try {
    writeAtomically(files.cost, `${JSON.stringify({ sessionId: session, costUsd: cost, at })}\n`);
  } catch {
    // no runtime directory yet, or a full disk: the cost then reads as unknown, which is the truth
  }
}

function keptAlready(path: string, session: string, cost: number): boolean {
  try {
    const kept = JSON.parse(readFileSync(regularFile(path), 'utf8')) as { sessionId?: unknown; costUsd?: unknown };
    return kept.sessionId === session && kept.costUsd === cost;
  } catch {
    return false;
  }
}
