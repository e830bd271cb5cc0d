/** Version of the conventions for the names below. */
const CONVENTIONS = 'semantic-conventions-genai 0.1.0';

type Value = string | number | boolean;
export type Attributes = Readonly<Record<string, Value | undefined>>;

/** Origin of the data: the version of this program, and the user's own attributes, which come first. */
export interface Resource {
  readonly version: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A finished span. Times are ISO-8601 UTC. */
export interface Span {
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
export interface Metric {
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

export function traceRequest(spans: readonly Span[], resource: Resource): Json {
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
    resourceSpans: [{ resource: resourceOf(resource), scopeSpans: [{ scope: scopeOf(resource), spans: encoded }] }],
  };
}

/** Encodes metrics of the time from `since` to `at` as a request of OTLP/HTTP in JSON. */
export function metricRequest(metrics: readonly Metric[], resource: Resource, since: string, at: string): Json {
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
    resourceMetrics: [
      { resource: resourceOf(resource), scopeMetrics: [{ scope: scopeOf(resource), metrics: encoded }] },
    ],
  };
}

function scopeOf({ version }: Resource): Json {
  return { name: 'ralph-loop', version };
}

function resourceOf({ version, attributes }: Resource): Json {
  const own = { 'service.name': 'ralph-loop', 'service.version': version, 'ralph.conventions': CONVENTIONS };
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
