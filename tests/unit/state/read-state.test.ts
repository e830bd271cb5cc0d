import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import schema from '../../../schemas/state.schema.json' with { type: 'json' };
import { parseState, readState } from '../../../src/state/read-state.ts';
import { serialise } from '../../../src/state/with-state.ts';
import { anEndedState, aProject, aState, putState } from './a-loop.ts';

test('A state that was written is read back the same.', (t) => {
  const files = aProject(t);
  for (const state of [aState(), anEndedState(), aState({ taskPath: 'ü\u2028"\\\0\ud800' })]) {
    putState(files, state);
    assert.deepEqual(readState(files.state), { kind: 'loop', state });
  }
});

test('No file, and a file in the place of its folder, are no loop.', (t) => {
  const { state, runtimeDir } = aProject(t);
  assert.deepEqual(readState(state), { kind: 'absent' });
  writeFileSync(join(runtimeDir, 'file'), '');
  assert.deepEqual(readState(join(runtimeDir, 'file', 'ralph-state.json')), { kind: 'absent' });
});

test('A folder in the place of the state is an unusable state and no exception.', (t) => {
  const { state } = aProject(t);
  mkdirSync(state);
  assert.equal(readState(state).kind, 'corrupt');
});

test('Every beginning of a state file that was cut off is corrupt, and never taken for a loop or for a state of four keys.', () => {
  const text = serialise(anEndedState()).trimEnd();
  for (let length = 0; length < text.length; length++) {
    assert.equal(parseState(text.slice(0, length)).kind, 'corrupt', text.slice(0, length));
  }
});

test('A state that lost any single key that it must have is not a loop.', () => {
  const state = anEndedState();
  for (const key of [...(schema.allOf[0]?.required ?? []), 'status', 'ended']) {
    const { [key]: _, ...rest } = state as unknown as Record<string, unknown>;
    assert.notEqual(parseState(JSON.stringify(rest)).kind, 'loop', key);
  }
});

test('What is no JSON object, or is absurdly large, is corrupt with a reason.', () => {
  const texts = ['', ' ', 'null', '[]', '1', '"{}"', '{}', '{"a":1}{', '\0'.repeat(4096), `"${'x'.repeat(2 ** 24)}"`];
  for (const text of texts) {
    const read = parseState(text);
    assert.ok(read.kind === 'corrupt' && read.problem !== '', text.slice(0, 20));
  }
});

test('A state of four keys is a loop of their own kind, with or without a count of findings.', () => {
  const file = { iteration: 2, startedAt: '2026-02-28T10:00:00Z', lastRunAt: '2026-02-28T10:05:00Z' };
  for (const lastFindingsCount of [0, null, 'unknown']) {
    const read = parseState(JSON.stringify({ ...file, lastFindingsCount }));
    assert.deepEqual(read, { kind: 'four-keys', file: { ...file, lastFindingsCount } });
  }
  for (const wrong of [{ iteration: -1 }, { iteration: '2' }, { startedAt: 'today' }, { lastFindingsCount: 'many' }]) {
    assert.equal(parseState(JSON.stringify({ ...file, lastFindingsCount: 0, ...wrong })).kind, 'corrupt');
  }
});

test('A file of a newer program is told apart from a corrupt one, whatever else is in it.', () => {
  assert.deepEqual(parseState('{"schemaVersion":2}'), { kind: 'newer', version: 2 });
  for (const version of ['0', '-1', '"2"', 'null', '[]']) {
    assert.equal(parseState(`{"schemaVersion":${version}}`).kind, 'corrupt', version);
  }
});

test('A byte order mark and Windows line ends, as editors leave them, do not make a state corrupt.', () => {
  const text = `\ufeff${serialise(aState()).replaceAll('\n', '\r\n')}`;
  assert.deepEqual(parseState(text), { kind: 'loop', state: aState() });
});

test('Keys that this version does not know are kept.', () => {
  const read = parseState(JSON.stringify({ ...aState(), later: { nested: [1] } }));
  assert.ok(read.kind === 'loop' && 'later' in read.state);
});

test('Keys that mean something to JavaScript objects are data like any other.', () => {
  const text = serialise(aState()).replace('{', '{"__proto__":{"status":"ended"},"constructor":1,');
  const read = parseState(text);
  assert.ok(read.kind === 'loop');
  assert.equal(read.state.status, 'running');
  assert.equal(Object.getPrototypeOf(read.state), Object.prototype);
});
