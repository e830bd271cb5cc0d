import { sha256 } from '../state/hash-contract.ts';

/** Destination of finished spans and metrics. Headers may contain secrets. */
export interface Exporter {
  readonly tracesUrl: string;
  readonly metricsUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
}

/** Returns the destination of telemetry from the standard OTEL_* variables; null unless an endpoint is set. */
export function exporterOf(env: NodeJS.ProcessEnv): Exporter | null {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return null;
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const traces = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  if (!base && !traces) return null;
  const at = (path: string): string => (base ? `${base.replace(/\/+$/, '')}${path}` : '');
  return {
    tracesUrl: traces || at('/v1/traces'),
    metricsUrl: at('/v1/metrics'),
    headers: pairs(env['OTEL_EXPORTER_OTLP_HEADERS']),
    resource: pairs(env['OTEL_RESOURCE_ATTRIBUTES']),
  };
}

/** Parses `name=value,name=value`, the values percent-encoded or plain. Skips anything else. */
function pairs(text = ''): Record<string, string> {
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      const name = pair.slice(0, at).trim();
      const value = pair.slice(at + 1).trim();
      return at < 1 || name === '' ? [] : [[name, decoded(value)]];
    }),
  );
}

/** Decodes a percent-encoded value; returns any other as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (error) {
    if (error instanceof URIError) return value;
    throw error;
  }
}

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

/** Returns the `TRACEPARENT` for the spans of the agent of an iteration (idle ones count) or of the whole loop (null). */
export function traceparentFor(loopId: string, turn: number | null, outer: string | undefined): string {
  const above = turn === null ? spanId(loopId, 'loop') : spanId(loopId, 'iteration', turn);
  return `00-${traceOf(loopId, outer).traceId}-${above}-01`;
}
