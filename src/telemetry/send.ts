import manifest from '../../package.json' with { type: 'json' };
import { traceOf } from './ids.ts';
import type { LoopFacts, StreamEvent } from './loop-telemetry.ts';
import { telemetryOf } from './loop-telemetry.ts';
import { metricRequest, type Resource, traceRequest } from './otlp.ts';
import type { Exporter } from './settings.ts';

/** Longest time of an export. */
const TIME_MS = 2_000;

export interface Batch {
  readonly events: readonly StreamEvent[];
  readonly loop: LoopFacts;
  readonly traceparent: string | undefined;
  /** End of the export before this one, ISO-8601 UTC. */
  readonly since: string;
  readonly at: string;
}

export interface Sent {
  /** What went wrong, in one line; null if all arrived, or there was nothing to send. */
  readonly problem: string | null;
  readonly pending: StreamEvent | null;
}

/** Sends what these events finish. */
export async function send(exporter: Exporter, batch: Batch): Promise<Sent> {
  const { spans, metrics, pending } = telemetryOf(
    batch.events,
    batch.loop,
    traceOf(batch.loop.loopId, batch.traceparent),
  );
  const resource: Resource = { version: manifest.version, attributes: exporter.resource };
  const problems = await Promise.all([
    spans.length === 0 ? null : post(exporter, exporter.tracesUrl, traceRequest(spans, resource)),
    metrics.length === 0 || exporter.metricsUrl === ''
      ? null
      : post(exporter, exporter.metricsUrl, metricRequest(metrics, resource, batch.since, batch.at)),
  ]);
  return { problem: problems.find((problem) => problem !== null) ?? null, pending };
}

async function post({ headers }: Exporter, url: string, body: object): Promise<string | null> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIME_MS),
    });
    await response.body?.cancel();
    return response.ok ? null : `${new URL(url).origin} answered ${response.status}`;
  } catch (error) {
    // The address may hold a password, and so does the message.
    return error instanceof TypeError && !URL.canParse(url) ? 'the address is invalid' : (error as Error).name;
  }
}
