import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { collector, type Span, spansIn } from '../support/otlp-collector.ts';
import { type Project, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

function run(p: Project, env: NodeJS.ProcessEnv, said: string[] = [], by = agentOf(p)): Promise<number | null> {
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', by, '--json'], {
    cwd: p.dir,
    env: { ...p.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.on('data', (text) => said.push(String(text)));
  return new Promise((resolve) => child.once('close', resolve));
}

/** What export has been noted of loops. */
function cursors(p: Project): string[] {
  const found = readdirSync(String(p.env['XDG_STATE_HOME']), { recursive: true, encoding: 'utf8' });
  return found.filter((path) => /telemetry[^/]*\.json$/.test(path));
}

/** Notes the trace that it is given, and is done at its second run. */
function agentOf(p: Project): string {
  return agent(
    p,
    'echo "$TRACEPARENT" >> traces.txt\n[ -e second ] && touch done.txt && echo RALPH_AUDIT_COMPLETE_NO_FINDINGS\ntouch second',
  );
}

const TASK = 'validation:\n  - name: built\n    run: test -f done.txt\nmax_iterations: 4';
test('a collector receives loop > iteration > check, and agents the trace above them', async (t) => {
  const p = project(t);
  task(p, TASK);
  const { env, received } = await collector(t);
  assert.equal(await run(p, env), 0);
  const spans = spansIn(received);
  const byName = (name: string): Span[] => spans.filter((span) => span.name.startsWith(name));
  const [loop] = byName('invoke_workflow');
  const iterations = byName('invoke_agent');
  const [check] = byName('check');
  assert.ok(loop && check);
  assert.equal(iterations.length, 2);
  assert.ok(iterations.every(({ parentSpanId }) => parentSpanId === loop.spanId));
  assert.equal(check.parentSpanId, iterations[1]?.spanId);
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  assert.deepEqual(
    p.read('traces.txt').trim().split('\n'),
    iterations.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
  );
  const metrics = received.flatMap(({ body }) => body.resourceMetrics?.[0].scopeMetrics[0].metrics ?? []);
  assert.equal(metrics.filter(({ name }) => name === 'ralph.iterations').length, 2);
  assert.ok(metrics.some(({ name }) => name === 'ralph.loops'));
  assert.deepEqual([...new Set(received.map(({ url }) => url))].sort(), ['/v1/metrics', '/v1/traces']);
  assert.equal(JSON.stringify(received).includes('done.txt'), false, 'no command');
  assert.equal(JSON.stringify(received).includes(p.dir), false, 'no path');
});

test('an iteration is exported with its checks before the next one begins', async (t) => {
  const p = project(t);
  task(p, TASK);
  const { env, received } = await collector(t);
  const waits = '[ -e second ] && for i in $(seq 100); do [ -e seen.txt ] || sleep 0.05; done && touch done.txt';
  const claims = agent(p, `${waits}\ntouch second\necho RALPH_AUDIT_COMPLETE_NO_FINDINGS`);
  const over = run(p, env, [], claims);
  await until('the first iteration has arrived', () => spansIn(received).length > 0);
  assert.equal(p.has('done.txt'), false, 'the second iteration still runs');
  p.write('seen.txt', '');
  assert.equal(await over, 0);
  const names = spansIn(received).map(({ name }) => name.split(' ')[0]);
  assert.deepEqual(names, ['invoke_agent', 'check', 'invoke_agent', 'check', 'invoke_workflow']);
});

test('a loop in a trace of its caller is a part of it', async (t) => {
  const p = project(t);
  task(p, TASK);
  const { env, received } = await collector(t);
  await run(p, { ...env, TRACEPARENT: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
  const loop = spansIn(received).find(({ name }) => name.startsWith('invoke_workflow'));
  assert.deepEqual([loop?.traceId, loop?.parentSpanId], ['a'.repeat(32), 'b'.repeat(16)]);
});

test('a collector that refuses does not affect the loop, whose end says so', async (t) => {
  const p = project(t);
  task(p, TASK);
  const { env, received } = await collector(t, 503);
  const said: string[] = [];
  assert.equal(await run(p, env, said), 0);
  assert.ok(received.length > 0);
  assert.match(said.join(''), /OpenTelemetry did not get everything: http:\/\/127\.0\.0\.1:\d+ answered 503\./);
});

test('without an endpoint nothing is sent, and the agent gets no trace', async (t) => {
  const p = project(t);
  task(p, TASK);
  assert.equal(await run(p, {}), 0);
  assert.equal(p.read('traces.txt'), '\n\n');
  // A loop that was exported knows how far.
  assert.deepEqual(cursors(p), []);
  const { env } = await collector(t);
  await run(p, env);
  assert.equal(cursors(p).length, 1, 'the control');
});
