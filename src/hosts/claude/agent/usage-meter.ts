import { tokens, type UsageDelta } from '../../../engine/events.ts';
import { addTokens, type Totals } from '../transcript/transcript.ts';

/** Counts the tokens of one agent run continuously, and exactly as soon as the client reports its own totals. */
export function usageMeter() {
  const messages = new Map<string, Totals>();
  const streamed = tokens(() => 0);
  let sum = tokens(() => 0);
  let isPriced = false;
  let cost: number | null = null;
  let current = '';
  return {
    begin: (id: string): void => {
      current = id;
    },
    /** Records the tokens of a message so far: its lines repeat them, and only the last ones have all of its output. */
    note: (id: string | null, usage: UsageDelta): void => {
      const known = messages.get(id ?? current) ?? tokens(() => 0);
      const more = tokens((kind) => Math.max(0, usage[kind] - known[kind]));
      for (const total of [known, streamed, sum]) addTokens(total, more);
      messages.set(id ?? current, known);
      // Another turn of the same run has begun.
      if (isAny(more)) isPriced = false;
    },
    /** Records the client's totals of the run so far, which include tokens missing from its stream. */
    total: (usage: UsageDelta, costUsd: number | null): void => {
      // The client's totals lack interrupted requests: without a token, they say nothing about the cost.
      sum = tokens((kind) => Math.max(usage[kind], streamed[kind]));
      cost = costUsd;
      isPriced = costUsd !== null && (costUsd > 0 || isAny(usage));
    },
    /** Returns the usage; null if nothing is known to be billed. `costUsd` is null if part of it has an unknown cost. */
    read: () => ({
      usage: isPriced || isAny(sum) ? { ...sum } : null,
      costUsd: isPriced ? cost : null,
    }),
  };
}

function isAny(usage: UsageDelta): boolean {
  return Object.values(usage).some((count) => count > 0);
}
