import { addUsage } from '../../engine/policy/budget.ts';
import { READERS } from '../../engine/schema/constants.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Fields, fieldsOf, parseFields } from '../../hosts/fields.ts';
import { type Entry, readBackwards } from '../../state/event-stream.ts';
import { readLines } from '../../state/files/journal-lines.ts';
import { quietly, readRecord, writeAtomically } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Returns the session's cost in US dollars, which the client reports to its status line; null if unknown. */
export function readCost(files: LoopFiles, sessionId: string): number | null {
  const costUsd = readCosts(files)[sessionId];
  return typeof costUsd === 'number' && costUsd >= 0 ? costUsd : null;
}

/** Returns the last cost of each session: a client continues from it when its user resumes the session. */
function readCosts(files: LoopFiles): Fields {
  const { sessionId, costUsd, others } = readRecord<Fields>(files.cost) ?? {};
  return { ...fieldsOf(others), [String(sessionId)]: costUsd };
}

/** Adds the client's figures since the last turn. */
export function usageNow(files: LoopFiles, { usage, sessionId }: LoopState): LoopState['usage'] {
  return sessionId === null ? usage : addUsage(usage, null, readCost(files, sessionId));
}

/** Reads session and cost from what the client passes to its status line; null for a status line run by hand. */
export function reportedCost(payload: string): { readonly sessionId: string; readonly costUsd: number } | null {
  const { session_id: sessionId, cost } = parseFields(payload) ?? {};
  const costUsd = fieldsOf(cost)['total_cost_usd'];
  if (typeof sessionId !== 'string' || typeof costUsd !== 'number' || !(costUsd >= 0)) return null;
  return { sessionId, costUsd };
}

/** Stores the session's cost for the next Stop. Written only on a change: it is reported every two seconds. */
export function storeCost(files: LoopFiles, payload: string, at: string): void {
  const reported = reportedCost(payload);
  if (reported === null || readCost(files, reported.sessionId) === reported.costUsd) return;
  const { [reported.sessionId]: _, ...others } = readCosts(files);
  // Without a runtime directory, or on a full disk, the cost stays unknown.
  quietly(() => writeAtomically(files.cost, `${JSON.stringify({ ...reported, at, others })}\n`));
}

/** Counts calls since byte `from`. If `outcomesKnown`, a call neither done nor failed was denied by the client. */
export function readCalls(files: LoopFiles, loopId: string, from: number, outcomesKnown: boolean) {
  const lines = readLines(files.events, from, undefined, (line) => line.includes('"type":"tool.'));
  const asked = new Set<unknown>();
  const unanswered = new Set<unknown>();
  const denied = new Set<unknown>();
  let failedShellCalls = 0;
  for (const { loopId: owner, callId, id, type, tool, outcome } of lines.entries) {
    if (owner !== loopId) continue;
    // A runner's own events about calls use another key. For calls that need no guard, there are no others.
    if (callId === undefined) {
      if (!READERS.includes(String(tool))) continue;
      asked.add(id);
      if (outcome === 'denied') denied.add(id);
      continue;
    }
    const phase = String(type).slice('tool.'.length);
    asked.add(callId);
    if (phase === 'denied') denied.add(callId);
    if (phase === 'asked' && outcomesKnown) unanswered.add(callId);
    if (phase === 'failed' && (tool === 'Bash' || tool === 'PowerShell')) failedShellCalls += 1;
    if (phase === 'done' || phase === 'failed') unanswered.delete(callId);
  }
  const deniedCalls = new Set([...denied, ...unanswered]).size;
  return { toolCalls: asked.size, deniedCalls, failedShellCalls, next: lines.next };
}

interface RecordedCall {
  readonly tool: string;
  readonly about: string;
  /** `done`, `failed`, `asked` if the end was not recorded, or `denied` with the reason. */
  readonly outcome: string;
}

const TAIL_BYTES = 8 * 1024 * 1024;

/** Returns the tool calls of a loop since an instant, in order. */
export function callsSince(files: LoopFiles, loopId: string, since: string): RecordedCall[] {
  const events: Entry[] = [];
  readBackwards(files, loopId, TAIL_BYTES, ['tool.'], (event) => {
    const isEarlier = String(event['at']) < since;
    if (!isEarlier) events.push(event);
    return isEarlier;
  });
  const calls = new Map<string, RecordedCall>();
  for (const { callId, id, type, tool, about, reason, rule, outcome } of events.reverse()) {
    const key = String(callId ?? id);
    const known = calls.get(key) ?? { tool: String(tool), about: String(about ?? ''), outcome: 'asked' };
    const phase = callId === undefined ? String(outcome ?? 'asked') : String(type).slice('tool.'.length);
    const end = phase === 'ok' ? 'done' : phase === 'denied' ? `denied: ${String(reason ?? rule ?? '')}` : phase;
    calls.set(key, { ...known, outcome: end === 'asked' || known.outcome.startsWith('denied') ? known.outcome : end });
  }
  return [...calls.values()];
}
