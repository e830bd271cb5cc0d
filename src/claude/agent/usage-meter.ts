import type { UsageDelta } from '../../engine/events.ts';

type Totals = { -readonly [K in keyof UsageDelta]: number };
const KINDS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

/** Tokens of one agent run, known at every moment, and exact as soon as the client reports its own totals. */
export interface UsageMeter {
  /** Begins the main agent's next message, to which tokens without an id belong. */
  readonly begin: (id: string) => void;
  /** Notes the tokens of a message so far: its lines repeat them, and only the last ones have all of its output. */
  readonly note: (id: string | null, usage: UsageDelta) => void;
  /** Notes the client's totals of the run so far, which include what its stream does not show. */
  readonly total: (usage: UsageDelta, costUsd: number | null) => void;
  /** null where nothing was billed, as far as is known. `costUsd` is null if some of it has an unknown cost. */
  readonly read: () => { readonly usage: UsageDelta | null; readonly costUsd: number | null };
}

export function usageMeter(): UsageMeter {
  const messages = new Map<string, Totals>();
  const streamed = none();
  let sum = none();
  let isPriced = false;
  let cost: number | null = null;
  let current = '';
  return {
    begin: (id) => {
      current = id;
    },
    note: (id, usage) => {
      const known = messages.get(id ?? current) ?? none();
      messages.set(id ?? current, known);
      for (const kind of KINDS) {
        const more = Math.max(0, usage[kind] - known[kind]);
        known[kind] += more;
        streamed[kind] += more;
        sum[kind] += more;
        // Another turn of the same run has begun.
        if (more > 0) isPriced = false;
      }
    },
    total: (usage, costUsd) => {
      // A request that broke off is missing in the client's totals.
      sum = none();
      for (const kind of KINDS) sum[kind] = Math.max(usage[kind], streamed[kind]);
      cost = costUsd;
      isPriced = costUsd !== null;
    },
    read: () => ({
      usage: isPriced || KINDS.some((kind) => sum[kind] > 0) ? { ...sum } : null,
      costUsd: isPriced ? cost : null,
    }),
  };
}

function none(): Totals {
  return { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
}
