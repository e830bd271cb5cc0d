import { VERSION } from '../../../src/cli/help.ts';
import type { LoopFacts, StreamEvent } from '../../../src/telemetry/send.ts';
import { metricRequest, send, telemetryOf, traceRequest } from '../../../src/telemetry/send.ts';
import { exporterOf, spanId, traceOf, traceparentFor } from '../../../src/telemetry/settings.ts';
import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';

const LOOP: LoopFacts = { loopId: 'l-1', name: 'docs', mode: 'runner', startedAt: at(0), sessionId: 's-1' };
const ROOT = traceOf('l-1', undefined);

function at(seconds: number): string {
  return new Date(Date.UTC(2026, 1, 28, 10) + seconds * 1000).toISOString();
}

const event = (type: string, seconds: number, more: object = {}): StreamEvent => ({
  ...{ type, at: at(seconds), loopId: 'l-1', v: 1, iteration: 1 },
  ...more,
});
const ITERATION = event('iteration.ended', 60, {
  ...{ startedAt: at(1), endedAt: at(60), durationMs: 59_000, decision: 'claimed', claimed: true, toolCalls: 3 },
  ...{ deniedCalls: 1, outputTokens: 5, message: 'secret words of the agent' },
  agent: {
    ...{ model: 'claude-x', turns: 2, durationMs: 58_000, costUsd: 0.25 },
    usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 7, cacheWriteTokens: 1 },
  },
});
const EVENTS: readonly StreamEvent[] = [
  ITERATION,
  event('verification.started', 61),
  event('check.started', 61, { name: 'npm test --token=abc' }),
  event('check.started', 63, { name: 'types' }),
  event('check.ran', 64, { name: 'npm test --token=abc', run: 'npm test --token=abc', outcome: 'failed', tail: 'x' }),
  event('check.ran', 64, { name: 'types', run: 'tsc', outcome: 'ok', tail: '' }),
  event('tool.denied', 65, { tool: 'Bash', about: 'cat .env', rule: 'private', callId: 'c-1' }),
  event('tool.ended', 65, { tool: 'Bash', about: 'cat .env', outcome: 'denied', id: 'c-1' }),
  event('wait.started', 66, { why: 'idle', until: at(96) }),
  event('iteration.started', 80, { begins: 2 }),
  event('loop.ended', 90, { status: 'complete', verified: true, message: 'Complete.' }),
];

test('a loop is a tree of spans: loop, iteration and check, with waits beside the iterations', () => {
  const { spans, pending } = telemetryOf(EVENTS, LOOP, ROOT);
  const named = Object.fromEntries(spans.map((span) => [span.name, span]));
  const [loop, iteration, wait] = [named['invoke_workflow docs'], named['invoke_agent claude-code'], named['wait']];
  assert.ok(loop && iteration && wait);
  assert.deepEqual(
    spans.map(({ name }) => name),
    [...['invoke_agent claude-code', 'check', 'check', 'wait', 'invoke_workflow docs']],
  );
  assert.ok(spans.every(({ traceId }) => traceId === ROOT.traceId));
  assert.equal(loop.parentSpanId, null);
  assert.equal(iteration.parentSpanId, loop.spanId);
  assert.equal(wait.parentSpanId, loop.spanId);
  assert.deepEqual([wait.startedAt, wait.endedAt], [at(66), at(80)], 'a wait ends with the next event');
  const checks = spans.filter(({ name }) => name === 'check');
  assert.ok(checks.every(({ parentSpanId }) => parentSpanId === iteration.spanId));
  assert.deepEqual(
    checks.map(({ startedAt, endedAt, error }) => [startedAt, endedAt, error]),
    [
      [at(61), at(63), 'failed'],
      [at(63), at(64), null],
    ],
  );
  assert.equal(new Set(spans.map(({ spanId: id }) => id)).size, spans.length);
  assert.equal(pending, null);
  assert.deepEqual([loop.startedAt, loop.endedAt, loop.error], [at(0), at(90), null]);
});

test('an idle iteration has a span of its own, and checks are below the iteration that claimed', () => {
  const idle = { ...ITERATION, idleIterations: 1 };
  const claimed = { ...ITERATION, iteration: 2, idleIterations: 1 };
  const check = event('check.ran', 64, { iteration: 2, name: 'types', run: 'tsc', outcome: 'ok', tail: '' });
  const { spans } = telemetryOf([{ ...ITERATION, idleIterations: 0 }, idle, claimed, check], LOOP, ROOT);
  assert.equal(new Set(spans.map(({ spanId: id }) => id)).size, 4);
  assert.deepEqual(
    spans.map(({ spanId: id }) => id).slice(0, 3),
    [1, 2, 3].map((turn) => traceparentFor('l-1', turn, undefined).split('-')[2]),
  );
  assert.equal(spans[3]?.parentSpanId, spans[2]?.spanId);
});

test('an iteration in a session of its own names that session', () => {
  const own = { ...ITERATION, agent: { sessionId: 's-2' } };
  const { spans } = telemetryOf([ITERATION, own], LOOP, ROOT);
  const ids = spans.map(({ attributes }) => attributes['gen_ai.conversation.id']);
  assert.deepEqual(ids, ['s-1', 's-2']);
});

test('an iteration has the names of the GenAI conventions', () => {
  const { spans } = telemetryOf([ITERATION], LOOP, ROOT);
  assert.deepEqual(spans[0]?.attributes, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'claude-code',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-x',
    'gen_ai.conversation.id': 's-1',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 7,
    'gen_ai.usage.cache_creation.input_tokens': 1,
    'ralph.loop.id': 'l-1',
    'ralph.iteration': 1,
    'ralph.outcome': 'claimed',
    'ralph.tool_calls': 3,
    'ralph.denied_calls': 1,
    'ralph.claimed': true,
    'ralph.cost_usd': 0.25,
  });
});

test('sends no prompt, command, output or path', () => {
  const sent = JSON.stringify(telemetryOf(EVENTS, LOOP, ROOT));
  for (const text of ['secret words', '--token=abc', 'tsc', '.env', 'Complete.']) {
    assert.equal(sent.includes(text), false, text);
  }
  assert.ok(sent.includes('"ralph.check.name":"types"'));
});

test('keeps a wait that continues for the next export', () => {
  const first = telemetryOf(EVENTS.slice(0, 9), LOOP, ROOT);
  assert.deepEqual(first.spans.map(({ name }) => name).includes('wait'), false);
  assert.equal(first.pending?.['type'], 'wait.started');
  const next = telemetryOf([...(first.pending ? [first.pending] : []), ...EVENTS.slice(9)], LOOP, ROOT);
  assert.deepEqual(
    next.spans.map(({ name }) => name),
    ['wait', 'invoke_workflow docs'],
  );
});

test('metrics count iterations, cost, tokens, durations, and a call denied twice once', () => {
  const { metrics } = telemetryOf(EVENTS, LOOP, ROOT);
  const sums = metrics.map(({ name, sum, seconds }) => [name, sum ?? seconds]);
  assert.deepEqual(sums, [
    ['ralph.iterations', 1],
    ['ralph.cost', 0.25],
    ['ralph.tokens', 10],
    ['ralph.tokens', 5],
    ['ralph.tokens', 7],
    ['ralph.tokens', 1],
    ['gen_ai.invoke_agent.duration', [59]],
    ['ralph.denials', 1],
    ['ralph.loops', 1],
  ]);
});

test('every process that drives a loop adds to the same tree, below the trace of the caller', () => {
  const outer = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  assert.deepEqual(traceOf('l-1', outer), { traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
  assert.deepEqual(traceOf('l-1', undefined), traceOf('l-1', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`));
  assert.notEqual(traceOf('l-2', undefined).traceId, ROOT.traceId);
  assert.match(ROOT.traceId, /^[0-9a-f]{32}$/);
  assert.equal(traceparentFor('l-1', 3, undefined), `00-${ROOT.traceId}-${spanId('l-1', 'iteration', 3)}-01`);
});

test('exports nothing without an endpoint, or if the SDK is disabled', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };
  assert.equal(exporterOf({}), null);
  assert.equal(exporterOf({ ...endpoint, OTEL_SDK_DISABLED: 'True' }), null);
  assert.deepEqual(exporterOf({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=b%20c, d = e=f ,=x,y' }), {
    ...{ tracesUrl: 'http://127.0.0.1:4318/v1/traces', metricsUrl: 'http://127.0.0.1:4318/v1/metrics' },
    headers: { a: 'b c', d: 'e=f' },
    resource: {},
  });
  const traces = exporterOf({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/t',
    OTEL_RESOURCE_ATTRIBUTES: 'x=1',
  });
  assert.deepEqual([traces?.tracesUrl, traces?.metricsUrl, traces?.resource], ['http://127.0.0.1:1/t', '', { x: '1' }]);
});

test('requests have the form of OTLP in JSON: hexadecimal ids, nanoseconds and 64-bit numbers as text', () => {
  const { spans, metrics } = telemetryOf(EVENTS, LOOP, ROOT);
  const resource = { 'service.name': 'mine' };
  const whole = JSON.parse(JSON.stringify(traceRequest(spans, resource)));
  const [scope] = whole.resourceSpans[0].scopeSpans;
  assert.deepEqual(scope.scope, { name: 'ralph-loop', version: VERSION });
  const [iteration] = scope.spans;
  assert.equal(iteration.startTimeUnixNano, `${Date.parse(at(1))}000000`);
  assert.equal(iteration.kind, 1);
  assert.deepEqual(iteration.attributes.find(({ key }: { key: string }) => key === 'ralph.iteration').value, {
    intValue: '1',
  });
  const attributes = whole.resourceSpans[0].resource.attributes;
  const service = attributes.findLast(({ key }: { key: string }) => key === 'service.name');
  assert.deepEqual(service.value, { stringValue: 'mine' });
  assert.ok(JSON.stringify(attributes).includes('semantic-conventions-genai 0.1.0'));
  const points = JSON.parse(JSON.stringify(metricRequest(metrics, resource, at(0), at(99))));
  const all = points.resourceMetrics[0].scopeMetrics[0].metrics;
  const duration = all.find(({ name }: { name: string }) => name === 'gen_ai.invoke_agent.duration');
  assert.deepEqual(duration.histogram.dataPoints[0].bucketCounts, ['0', '0', '0', '1', '0', '0', '0', '0']);
  assert.equal(all[0].sum.isMonotonic, true);
});

test('reports a failed export on one line without the address, and never throws', async () => {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    request.resume();
    response.statusCode = seen.length > 2 ? 500 : 200;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const batch = { events: EVENTS, loop: LOOP, traceparent: undefined, since: at(0), at: at(99) };
  const exporter = exporterOf({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret',
  });
  assert.ok(exporter);
  assert.deepEqual(await send(exporter, batch), { problem: null, pending: null });
  assert.deepEqual(seen.map(({ url }) => url).sort(), ['/v1/metrics', '/v1/traces']);
  assert.equal(seen[0]?.headers.authorization, 'Bearer secret');
  assert.match((await send(exporter, batch)).problem ?? '', /^http:\/\/127\.0\.0\.1:\d+ answered 500$/);
  await new Promise((resolve) => server.close(resolve));
  assert.notEqual((await send(exporter, batch)).problem, null);
  const hidden = exporterOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'no address with secret' });
  assert.ok(hidden);
  assert.equal((await send(hidden, batch)).problem?.includes('secret'), false);
});
