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
