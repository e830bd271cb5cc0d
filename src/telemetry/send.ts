import manifest from '../../package.json' with { type: 'json' };
import type { LoopState } from '../engine/schema/state.ts';
import { type Exporter, spanId, type TraceRoot, traceOf } from './settings.ts';

const TIME_MS = 2_000;

interface Batch {
  readonly events: readonly StreamEvent[];
  readonly loop: LoopFacts;
  readonly traceparent: string | undefined;
  /** End of the previous export, ISO-8601 UTC. */
  readonly since: string;
  readonly at: string;
}

/** Sends the spans that these events complete. `problem` is one line; null if all arrived, or for nothing to send. */
export async function send(exporter: Exporter, { events, loop, traceparent, since, at }: Batch) {
  const { spans, metrics, pending } = telemetryOf(events, loop, traceOf(loop.loopId, traceparent));
  const { tracesUrl, metricsUrl, resource } = exporter;
  const problems = await Promise.all([
    spans.length > 0 && post(exporter, tracesUrl, traceRequest(spans, resource)),
    metrics.length > 0 && metricsUrl && post(exporter, metricsUrl, metricRequest(metrics, resource, since, at)),
  ]);
  return { problem: problems.find(Boolean) || null, pending };
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
    // The address may contain a password, and the error message may contain the address.
    if (!URL.canParse(url)) return 'the address is invalid';
    const { cause, name } = error as Error & { cause?: { code?: string } };
    return `${new URL(url).origin} did not answer (${cause?.code ?? name})`;
  }
}

export type StreamEvent = Readonly<Record<string, unknown>>;

/** Facts about the loop that the stream does not contain. */
export type LoopFacts = Pick<LoopState, 'loopId' | 'name' | 'mode' | 'startedAt' | 'sessionId'>;

/**
 * Returns the spans that these events of one loop complete, in order, and their metrics: loop > iteration > check, and waits
 * beside the iterations. Omits prompts, commands, output and paths. `pending` is a wait whose end is still unknown, to be put
 * before the next events.
 */
export function telemetryOf(events: readonly StreamEvent[], loop: LoopFacts, root: TraceRoot) {
  const spans: Span[] = [];
  const ended: StreamEvent[] = [];
  let started: StreamEvent[] = [];
  let wait: StreamEvent | null = null;
  for (const event of events) {
    const at = text(event, 'at');
    if (wait !== null) spans.push(waitSpan(wait, at, loop, root));
    wait = null;
    switch (event['type']) {
      case 'verification.started':
        started = [];
        break;
      case 'check.started':
        started.push(event);
        break;
      case 'check.ran': {
        const parentSpanId = spanId(loop.loopId, 'iteration', turnOf(ended.at(-1) ?? event));
        spans.push(checkSpan(event, timesOf(event, started), loop, { ...root, parentSpanId }, spans.length));
        break;
      }
      case 'iteration.ended':
        spans.push(iterationSpan(event, loop, root));
        ended.push(event);
        break;
      case 'wait.started':
        wait = event;
        break;
      case 'loop.ended':
        spans.push(loopSpan(event, loop, root));
        break;
      default:
    }
  }
  return { spans, metrics: metricsOf(ended, events, loop), pending: wait };
}

function loopSpan(event: StreamEvent, loop: LoopFacts, { traceId, parentSpanId }: TraceRoot): Span {
  const status = text(event, 'status');
  return {
    traceId,
    spanId: spanId(loop.loopId, 'loop'),
    parentSpanId,
    name: `invoke_workflow ${loop.name ?? 'default'}`,
    startedAt: loop.startedAt,
    endedAt: text(event, 'at'),
    attributes: {
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.agent.name': loop.name ?? 'default',
      'ralph.loop.id': loop.loopId,
      'ralph.loop.mode': loop.mode,
      'ralph.outcome': status,
      'ralph.iterations': number(event, 'iteration'),
      'ralph.verified': event['verified'] === true,
      ...(event['proof'] === undefined ? {} : { 'ralph.proof': text(event, 'proof') }),
    },
    error: status === 'complete' || status === 'stopped' ? null : status,
  };
}

function iterationSpan(event: StreamEvent, loop: LoopFacts, { traceId }: TraceRoot): Span {
  const iteration = number(event, 'iteration') ?? 0;
  const agent = (event['agent'] ?? {}) as StreamEvent;
  const usage = (agent['usage'] ?? {}) as StreamEvent;
  const attributes: Attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'claude-code',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': typeof agent['model'] === 'string' ? agent['model'] : undefined,
    'gen_ai.conversation.id': text(agent, 'sessionId') || (loop.sessionId ?? undefined),
    'gen_ai.usage.input_tokens': number(usage, 'inputTokens'),
    'gen_ai.usage.output_tokens': number(usage, 'outputTokens') ?? number(event, 'outputTokens'),
    'gen_ai.usage.cache_read.input_tokens': number(usage, 'cacheReadTokens'),
    'gen_ai.usage.cache_creation.input_tokens': number(usage, 'cacheWriteTokens'),
    'ralph.loop.id': loop.loopId,
    'ralph.iteration': iteration,
    'ralph.outcome': text(event, 'decision'),
    'ralph.tool_calls': number(event, 'toolCalls'),
    'ralph.denied_calls': number(event, 'deniedCalls'),
    'ralph.claimed': event['claimed'] === true,
    'ralph.cost_usd': number(agent, 'costUsd'),
  };
  return {
    traceId,
    spanId: spanId(loop.loopId, 'iteration', turnOf(event)),
    parentSpanId: spanId(loop.loopId, 'loop'),
    name: 'invoke_agent claude-code',
    startedAt: text(event, 'startedAt'),
    endedAt: text(event, 'endedAt'),
    attributes,
    error: null,
  };
}

/** Returns the position of an iteration in its loop: an idle one has the number of the last counted one. */
function turnOf(event: StreamEvent): number {
  return (number(event, 'iteration') ?? 0) + (number(event, 'idleIterations') ?? 0);
}

type Times = Pick<Span, 'startedAt' | 'endedAt'>;

/** Returns the times of a check. Starts are recorded at once, results after the last check: each ends at the next start. */
function timesOf(event: StreamEvent, started: readonly StreamEvent[]): Times {
  const at = text(event, 'at');
  const index = started.findIndex(({ name }) => name === event['name']);
  const [own, next] = [started[index], started[index + 1]];
  if (own === undefined) return { startedAt: at, endedAt: at };
  return { startedAt: text(own, 'at'), endedAt: next === undefined ? at : text(next, 'at') };
}

function checkSpan(event: StreamEvent, times: Times, loop: LoopFacts, parent: TraceRoot, nth: number): Span {
  const [iteration, outcome, at] = [number(event, 'iteration') ?? 0, text(event, 'outcome'), text(event, 'at')];
  // A check without a name is named after its command, which is not reported.
  const name = event['name'] === event['run'] ? undefined : text(event, 'name');
  return {
    ...parent,
    spanId: spanId(loop.loopId, 'check', iteration, at, nth),
    name: 'check',
    ...times,
    attributes: {
      'ralph.loop.id': loop.loopId,
      'ralph.iteration': iteration,
      'ralph.check.name': name,
      'ralph.outcome': outcome,
    },
    error: outcome === 'ok' ? null : outcome,
  };
}

function waitSpan(event: StreamEvent, endedAt: string, loop: LoopFacts, { traceId }: TraceRoot): Span {
  const at = text(event, 'at');
  return {
    traceId,
    spanId: spanId(loop.loopId, 'wait', at),
    parentSpanId: spanId(loop.loopId, 'loop'),
    name: 'wait',
    startedAt: at,
    endedAt: endedAt < at ? at : endedAt,
    attributes: { 'ralph.loop.id': loop.loopId, 'ralph.reason': text(event, 'why') },
    error: null,
  };
}

function metricsOf(ended: readonly StreamEvent[], events: readonly StreamEvent[], loop: LoopFacts): Metric[] {
  const base = { 'ralph.loop.mode': loop.mode };
  const metrics: Metric[] = [];
  const add = (name: string, unit: string, attributes: Metric['attributes'], sum: number): void =>
    void metrics.push({ name, unit, attributes, sum });
  for (const event of ended) {
    const agent = (event['agent'] ?? {}) as StreamEvent;
    add('ralph.iterations', '{iteration}', { ...base, 'ralph.outcome': text(event, 'decision') }, 1);
    const cost = number(agent, 'costUsd');
    if (cost !== undefined) add('ralph.cost', '{USD}', base, cost);
    for (const [kind, tokens] of Object.entries((agent['usage'] ?? {}) as StreamEvent)) {
      const type = { ...base, 'gen_ai.token.type': kind.replace(/Tokens$/, '') };
      if (typeof tokens === 'number') add('ralph.tokens', '{token}', type, tokens);
    }
  }
  const seconds = ended.map((event) => (number(event, 'durationMs') ?? 0) / 1000);
  const operation = { ...base, 'gen_ai.operation.name': 'invoke_agent' };
  if (seconds.length > 0)
    metrics.push({ name: 'gen_ai.invoke_agent.duration', unit: 's', attributes: operation, seconds });
  // Hooks and runner both report a denied call; an iteration counts it once.
  const denied = ended.reduce((sum, event) => sum + (number(event, 'deniedCalls') ?? 0), 0);
  if (denied > 0) add('ralph.denials', '{call}', base, denied);
  for (const event of events.filter(({ type }) => type === 'loop.ended'))
    add('ralph.loops', '{loop}', { ...base, 'ralph.outcome': text(event, 'status') }, 1);
  return metrics;
}

function text(event: StreamEvent, key: string): string {
  const value = event[key];
  return typeof value === 'string' ? value : '';
}

function number(event: StreamEvent, key: string): number | undefined {
  const value = event[key];
  return typeof value === 'number' ? value : undefined;
}

/** Version of the conventions for the names below. */
const CONVENTIONS = 'semantic-conventions-genai 0.1.0';

type Value = string | number | boolean;
type Attributes = Readonly<Record<string, Value | undefined>>;

/** A finished span. Times are ISO-8601 UTC. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attributes: Attributes;
  /** Error message; null if it did not fail. */
  readonly error: string | null;
}

/** Sum since the last export, or measurements of a duration in seconds. */
interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly sum?: number;
  readonly seconds?: readonly number[];
}

const INTERNAL = 1;
const FAILED = 2;
const DELTA = 1;
/** Upper bounds of the durations, in seconds. */
const BOUNDS = [1, 5, 15, 60, 300, 900, 3600];

type Json = Readonly<Record<string, unknown>>;

export function traceRequest(spans: readonly Span[], resource: Exporter['resource']): Json {
  const encoded = spans.map(({ parentSpanId, startedAt, endedAt, attributes, error, ...named }) => ({
    ...named,
    ...(parentSpanId !== null && { parentSpanId }),
    kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: encodeAll(attributes),
    status: error === null ? {} : { code: FAILED, message: error },
  }));
  return {
    resourceSpans: [{ resource: resourceOf(resource), scopeSpans: [{ scope: SCOPE, spans: encoded }] }],
  };
}

/** Encodes metrics of the time from `since` to `at` as a request of OTLP/HTTP in JSON. */
export function metricRequest(
  metrics: readonly Metric[],
  resource: Exporter['resource'],
  since: string,
  at: string,
): Json {
  const time = { startTimeUnixNano: nanoseconds(since), timeUnixNano: nanoseconds(at) };
  const encoded = metrics.map(({ name, unit, attributes, sum, seconds }) => {
    const point = { attributes: encodeAll(attributes), ...time };
    if (seconds === undefined) {
      const dataPoints = [{ ...point, asDouble: sum ?? 0 }];
      return { name, unit, sum: { aggregationTemporality: DELTA, isMonotonic: true, dataPoints } };
    }
    const dataPoints = [{ ...point, ...histogram(seconds) }];
    return { name, unit, histogram: { aggregationTemporality: DELTA, dataPoints } };
  });
  return {
    resourceMetrics: [{ resource: resourceOf(resource), scopeMetrics: [{ scope: SCOPE, metrics: encoded }] }],
  };
}

const SCOPE = { name: 'ralph-loop', version: manifest.version };

/** Returns the origin of the data: this program, and the user's own attributes, which come first. */
function resourceOf(attributes: Exporter['resource']): Json {
  const own = { 'service.name': 'ralph-loop', 'service.version': manifest.version, 'ralph.conventions': CONVENTIONS };
  return { attributes: encodeAll({ ...own, ...attributes }) };
}

function histogram(seconds: readonly number[]): Json {
  const counts = [...BOUNDS, Number.POSITIVE_INFINITY].map(
    (bound, at) => seconds.filter((one) => one <= bound && one > (BOUNDS[at - 1] ?? -1)).length,
  );
  return {
    count: String(seconds.length),
    sum: seconds.reduce((all, one) => all + one, 0),
    bucketCounts: counts.map(String),
    explicitBounds: BOUNDS,
  };
}

function encodeAll(attributes: Attributes): Json[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: encode(value) }],
  );
}

/** Encodes a value; 64-bit numbers are strings in JSON. */
function encode(value: Value): Json {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

function nanoseconds(at: string): string {
  return `${Date.parse(at)}000000`;
}
