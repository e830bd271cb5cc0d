import type { UsageDelta } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readTail } from '../../state/files/read-tail.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Runs that came to nothing in a row are few, and their events short. */
const TAIL_BYTES = 64 * 1024;

/** What a loop's agents have used and its state does not know; null where nobody told. US dollars. */
export interface Unaccounted {
  readonly usage: UsageDelta | null;
  readonly costUsd: number | null;
}

/**
 * The usage of agents that ended after the loop's last counted turn: runs that came to nothing, or the last one of a
 * runner that was killed before it had counted. By the events journal.
 */
export function unaccounted(files: LoopFiles, { loopId, lastRunAt }: LoopState): Unaccounted {
  let found: Unaccounted = { usage: null, costUsd: null };
  readTail(files.events, TAIL_BYTES, (line) => {
    const event = parse(line);
    if (event === null || event['loopId'] !== loopId) return false;
    if (String(event['at']) <= lastRunAt) return true;
    if (event['type'] === 'agent.ended') found = add(found, event);
    return false;
  });
  return found;
}

function add({ usage, costUsd }: Unaccounted, event: Readonly<Record<string, unknown>>): Unaccounted {
  const cost = event['costUsd'];
  return {
    usage: sumUsage(usage, usageOf(event['usage'])),
    costUsd: typeof cost === 'number' && cost >= 0 ? (costUsd ?? 0) + cost : costUsd,
  };
}

/** The journal lies in the project: what is no count is none of the runner's. */
function usageOf(value: unknown): UsageDelta | null {
  if (typeof value !== 'object' || value === null) return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = value as Record<string, unknown>;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
  if (!counts.every((one) => Number.isSafeInteger(one) && (one as number) >= 0)) return null;
  return value as UsageDelta;
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // a torn line of a process that died
  }
}

/** The agent's own word for what it has used, of several runs. */
export function sumUsage(one: UsageDelta | null, other: UsageDelta | null): UsageDelta | null {
  if (one === null || other === null) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  };
}

/** The same of what they cost, in US dollars. */
export function sumCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
