import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policy as schema } from '../../../src/engine/schema/contract.ts';
import { policyFromEnvironment } from '../../../src/task/settings/from-environment.ts';
import { DEFAULT_POLICY } from '../../../src/task/settings/read-values.ts';

test('without variables a four-key loop has the defaults', () => {
  assert.deepEqual(policyFromEnvironment({}), { policy: DEFAULT_POLICY, notes: [] });
  assert.deepEqual(schema.parse(DEFAULT_POLICY), DEFAULT_POLICY);
});

test('an empty variable counts as not set', () => {
  const env = { RALPH_MAX_ITERATIONS: '', RALPH_COMPLETION_SIGNAL: '', RALPH_CIRCUIT_BREAKER_THRESHOLD: '' };
  assert.deepEqual(policyFromEnvironment(env), { policy: DEFAULT_POLICY, notes: [] });
});

test('the three variables are read', () => {
  const { policy, notes } = policyFromEnvironment({
    RALPH_MAX_ITERATIONS: '100',
    RALPH_COMPLETION_SIGNAL: 'ALL DONE',
    RALPH_CIRCUIT_BREAKER_THRESHOLD: '0',
  });
  assert.equal(policy.maxIterations, 100);
  assert.deepEqual(policy.completion, { kind: 'signal', text: 'ALL DONE' });
  assert.equal(policy.breaker.findings, 0);
  assert.deepEqual(notes, []);
  assert.deepEqual(schema.parse(policy), policy);
});

for (const bad of ['0', '101', '-1', '2.5', '25x', ' 25', '1e2', 'Infinity', '9'.repeat(400)]) {
  test(`RALPH_MAX_ITERATIONS=${bad.slice(0, 12)} falls back to the default with a note`, () => {
    const { policy, notes } = policyFromEnvironment({ RALPH_MAX_ITERATIONS: bad });
    assert.equal(policy.maxIterations, 25);
    assert.equal(notes.length, 1);
    assert.match(notes[0] ?? '', /^RALPH_MAX_ITERATIONS must be an integer from 1 to 100, but is ".*": 25 is used\.$/);
  });
}

for (const bad of ['two\nlines', '   ', ' DONE', '`DONE`', '> DONE', '```']) {
  test(`a signal that could never match, ${JSON.stringify(bad)}, falls back to the default with a note`, () => {
    const { policy, notes } = policyFromEnvironment({ RALPH_COMPLETION_SIGNAL: bad });
    assert.deepEqual(policy.completion, DEFAULT_POLICY.completion);
    assert.match(notes[0] ?? '', /^RALPH_COMPLETION_SIGNAL must /);
  });
}
