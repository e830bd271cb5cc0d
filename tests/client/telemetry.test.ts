import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inLoopProject } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { collector, type Received, type Span, spansIn } from '../support/otlp-collector.ts';
import { IS_LONG } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const done = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** A collector, and what turns the client's own spans on. */
async function traced(
  t: TestContext,
): Promise<{ readonly env: Record<string, string>; readonly received: readonly Received[] }> {
  const { env, received } = await collector(t);
  const client = {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: '1',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  };
  return { env: { ...env, ...client } as Record<string, string>, received };
}

const named = (spans: readonly Span[], name: string): Span[] => spans.filter((span) => span.name.startsWith(name));

/** The client's turns. */
function turnsOf(received: readonly Received[]): Span[] {
  const turns = named(spansIn(received), 'claude_code.interaction');
  assert.ok(turns.length > 0);
  return turns;
}

test('the spans of a client are below the iteration that it works on', async (t) => {
  const { env, received } = await traced(t);
  await inLoopProject({}, steps([text('one'), bash('echo two'), text(`over\n\n${done}`)]), async (project) => {
    const { code, stderr } = await runRunner(project, { env });
    assert.equal(code, 0, stderr);
    const iterations = named(spansIn(received), 'invoke_agent');
    assert.equal(iterations.length, 2);
    const turns = turnsOf(received);
    assert.deepEqual(
      turns.map(({ traceId, parentSpanId }) => [traceId, parentSpanId]),
      iterations.map(({ traceId, spanId }) => [traceId, spanId]),
    );
    const calls = named(spansIn(received), 'claude_code.tool');
    assert.ok(calls.length > 0);
    assert.deepEqual([...new Set(calls.map(({ traceId }) => traceId))], [iterations[0]?.traceId]);
  });
});

test('a launcher reports an iteration while its client works on the next one', async (t) => {
  const { env, received } = await traced(t);
  let seen: readonly Span[] = [];
  const second = async () => {
    seen = await until('the first iteration has arrived', () => {
      const found = named(spansIn(received), 'invoke_agent');
      return found.length > 0 && found;
    });
    return text(`over\n\n${done}`);
  };
  await inLoopProject({ standIn: !IS_LONG }, steps([text('one'), second]), async (project) => {
    const { code, said } = await project.run({ env });
    assert.equal(code, 0, said);
    assert.equal(seen.length, 1);
    const [loop] = named(spansIn(received), 'invoke_workflow');
    assert.equal(named(spansIn(received), 'invoke_agent').length, 2);
    if (!IS_LONG) return;
    const turns = turnsOf(received);
    assert.deepEqual(
      turns.map(({ parentSpanId }) => parentSpanId),
      turns.map(() => loop?.spanId),
    );
  });
});
