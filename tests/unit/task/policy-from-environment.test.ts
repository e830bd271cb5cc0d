import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policy as schema } from '../../../src/engine/schema/contract.ts';
import { policyFromEnvironment } from '../../../src/task/settings/from-environment.ts';
import { DEFAULT_POLICY } from '../../support/contract-terms.ts';
import { folderWith } from '../../support/folder.ts';

test('without variables a four-key loop has the defaults', () => {
  assert.deepEqual(policyFromEnvironment({}, '/nowhere'), { policy: DEFAULT_POLICY, notes: [] });
  assert.deepEqual(schema.parse(DEFAULT_POLICY), DEFAULT_POLICY);
});

test('an empty variable counts as not set', () => {
  const env = { RALPH_MAX_ITERATIONS: '', RALPH_COMPLETION_SIGNAL: '', RALPH_CIRCUIT_BREAKER_THRESHOLD: '' };
  assert.deepEqual(policyFromEnvironment(env, '/nowhere'), { policy: DEFAULT_POLICY, notes: [] });
});

test('the three variables are read', () => {
  const { policy, notes } = policyFromEnvironment(
    {
      RALPH_MAX_ITERATIONS: '100',
      RALPH_COMPLETION_SIGNAL: 'ALL DONE',
      RALPH_CIRCUIT_BREAKER_THRESHOLD: '0',
    },
    '/nowhere',
  );
  assert.equal(policy.maxIterations, 100);
  assert.deepEqual(policy.completion, { kind: 'signal', text: 'ALL DONE' });
  assert.equal(policy.breaker.findings, 0);
  assert.deepEqual(notes, []);
  assert.deepEqual(schema.parse(policy), policy);
});

for (const bad of ['0', '101', '-1', '2.5', '25x', ' 25', '1e2', 'Infinity', '9'.repeat(400)]) {
  test(`RALPH_MAX_ITERATIONS=${bad.slice(0, 12)} falls back to the default with a note`, () => {
    const { policy, notes } = policyFromEnvironment({ RALPH_MAX_ITERATIONS: bad }, '/nowhere');
    assert.equal(policy.maxIterations, 25);
    assert.equal(notes.length, 1);
    assert.match(notes[0] ?? '', /^RALPH_MAX_ITERATIONS must be an integer from 1 to 100, but is ".*": 25 is used\.$/);
  });
}

for (const bad of ['two\nlines', '   ', ' DONE', '`DONE`', '> DONE', '```']) {
  test(`a signal that could never match, ${JSON.stringify(bad)}, falls back to the default with a note`, () => {
    const { policy, notes } = policyFromEnvironment({ RALPH_COMPLETION_SIGNAL: bad }, '/nowhere');
    assert.deepEqual(policy.completion, DEFAULT_POLICY.completion);
    assert.match(notes[0] ?? '', /^RALPH_COMPLETION_SIGNAL must /);
  });
}

test('the limit of config.json applies to a state with four keys, an invalid one does not', (t) => {
  const dir = folderWith(t, { '.claude/ralph/config.json': '{"max_iterations": 7}' });
  assert.equal(policyFromEnvironment({}, dir).policy.maxIterations, 7);
  assert.equal(policyFromEnvironment({ RALPH_MAX_ITERATIONS: '3' }, dir).policy.maxIterations, 3, 'the variable wins');
  for (const text of ['{"max_iterations": 0}', '{"max_iterations": "7"}', '[]', '{']) {
    const other = folderWith(t, { '.claude/ralph/config.json': text });
    assert.equal(policyFromEnvironment({}, other).policy.maxIterations, 25, text);
  }
});
