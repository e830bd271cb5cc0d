import type { FinishedRun } from '../../claude/agent/agent-run.ts';
import type { UsageDelta } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readTail } from '../../state/files/read-tail.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Consecutive failed runs are few, and their events short. */
const TAIL_BYTES = 64 * 1024;

/** Usage of agents that is not yet part of the loop's state; null if unknown. US dollars. */
export interface RunUsage {
  readonly usage: UsageDelta | null;
  readonly costUsd: number | null;
}

export const NO_USAGE: RunUsage = { usage: null, costUsd: null };

/** Returns the usage of agents that ended after the last counted turn, by the events journal. */
export function failedRunUsage(files: LoopFiles, { loopId, lastRunAt }: LoopState): RunUsage {
  let found = NO_USAGE;
  readTail(files.events, TAIL_BYTES, (line) => {
    const event = parse(line);
    if (event === null || event['loopId'] !== loopId) return false;
    if (String(event['at']) <= lastRunAt) return true;
    if (event['type'] === 'agent.ended') found = sum(found, usageIn(event));
    return false;
  });
  return found;
}

/** The journal is in the project, so anything that is not a count is ignored. */
function usageIn({ usage, costUsd }: Readonly<Record<string, unknown>>): RunUsage {
  return {
    usage: isUsage(usage) ? usage : null,
    costUsd: typeof costUsd === 'number' && costUsd >= 0 ? costUsd : null,
  };
}

function isUsage(value: unknown): value is UsageDelta {
  if (typeof value !== 'object' || value === null) return false;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = value as Record<string, unknown>;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
  return counts.every((one) => Number.isSafeInteger(one) && Number(one) >= 0);
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // a torn line of a process that died
  }
}

export function withRun(before: RunUsage, { facts: { result } }: FinishedRun): RunUsage {
  return sum(before, { usage: result?.usage ?? null, costUsd: result?.costUsd ?? null });
}

function sum(one: RunUsage, other: RunUsage): RunUsage {
  return { usage: sumTokens(one.usage, other.usage), costUsd: sumCost(one.costUsd, other.costUsd) };
}

function sumTokens(one: UsageDelta | null, other: UsageDelta | null): UsageDelta | null {
  if (one === null || other === null) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  };
}

export function sumCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
