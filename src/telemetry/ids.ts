import { sha256 } from '../state/hash-contract.ts';

/** Identity of a loop's trace and of its parent span; null if there is none. */
export interface TraceRoot {
  readonly traceId: string;
  readonly parentSpanId: string | null;
}

/** Returns the trace of a loop: that of `TRACEPARENT`, else one derived from the loop alone, in every process. */
export function traceOf(loopId: string, traceparent: string | undefined): TraceRoot {
  const [, traceId, parentSpanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent ?? '') ?? [];
  const isValid = traceId !== undefined && !/^0+$/.test(traceId) && !/^0+$/.test(parentSpanId ?? '');
  if (isValid) return { traceId, parentSpanId: parentSpanId ?? null };
  return { traceId: sha256(`trace ${loopId}`).slice(0, 32), parentSpanId: null };
}

export function spanId(loopId: string, ...parts: readonly (string | number)[]): string {
  return sha256(['span', loopId, ...parts].join(' ')).slice(0, 16);
}

/** Returns the `TRACEPARENT` for the spans of the agent of an iteration, idle ones counted, or of the whole loop (null). */
export function traceparentFor(loopId: string, turn: number | null, outer: string | undefined): string {
  const above = turn === null ? spanId(loopId, 'loop') : spanId(loopId, 'iteration', turn);
  return `00-${traceOf(loopId, outer).traceId}-${above}-01`;
}
