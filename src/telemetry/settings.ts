import { orElse } from '../text/or-else.ts';

/** Where finished spans and metrics are sent. Headers may hold secrets. */
export interface Exporter {
  readonly tracesUrl: string;
  readonly metricsUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
}

/** Returns where telemetry goes, by the standard OTEL_* variables; null unless an endpoint is set. */
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

/** Reads `name=value,name=value`, the values percent-encoded or plain. What is no pair is left out. */
function pairs(text = ''): Record<string, string> {
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      const name = pair.slice(0, at).trim();
      const value = pair.slice(at + 1).trim();
      return at < 1 || name === '' ? [] : [[name, orElse(() => decodeURIComponent(value), value)]];
    }),
  );
}
