import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import schema from '../../../schemas/state.schema.json' with { type: 'json' };
import { parseState, readState } from '../../../src/state/loop-files.ts';
import { serialise } from '../../../src/state/with-state.ts';
import { anEndedState, aProject, aState, putState } from './a-loop.ts';

test('Reads a written state back unchanged.', (t) => {
  const files = aProject(t);
  for (const state of [aState(), anEndedState(), aState({ taskPath: 'ü\u2028"\\\0\ud800' })]) {
    putState(files, state);
    assert.deepEqual(readState(files.state), { kind: 'loop', state });
  }
});

test('A missing file, and a file in the place of its folder, mean that there is no loop.', (t) => {
  const { state, runtimeDir } = aProject(t);
  assert.deepEqual(readState(state), { kind: 'absent' });
  writeFileSync(join(runtimeDir, 'file'), '');
  assert.deepEqual(readState(join(runtimeDir, 'file', 'ralph-state.json')), { kind: 'absent' });
});

test('A folder in the place of the state is an unusable state and does not throw.', (t) => {
  const { state } = aProject(t);
  mkdirSync(state);
  assert.equal(readState(state).kind, 'corrupt');
});

test('Every prefix of a state file is corrupt, and never counts as a loop or as a four-key state.', () => {
  const text = serialise(anEndedState()).trimEnd();
  for (let length = 0; length < text.length; length++) {
    assert.equal(parseState(text.slice(0, length)).kind, 'corrupt', text.slice(0, length));
  }
});

test('A state without any single required key is not a loop.', () => {
  const state = anEndedState();
  for (const key of [...(schema.allOf[0]?.required ?? []), 'status', 'ended']) {
    const { [key]: _, ...rest } = state as unknown as Record<string, unknown>;
    assert.notEqual(parseState(JSON.stringify(rest)).kind, 'loop', key);
  }
});

test('Anything but a JSON object of reasonable size is corrupt, with a reason.', () => {
  const texts = ['', ' ', 'null', '[]', '1', '"{}"', '{}', '{"a":1}{', '\0'.repeat(4096), `"${'x'.repeat(2 ** 24)}"`];
  for (const text of texts) {
    const read = parseState(text);
    assert.ok(read.kind === 'corrupt' && read.problem !== '', text.slice(0, 20));
  }
});

test('A four-key state is a loop of its own kind, with or without a findings count.', () => {
  const file = { iteration: 2, startedAt: '2026-02-28T10:00:00Z', lastRunAt: '2026-02-28T10:05:00Z' };
  for (const lastFindingsCount of [0, null, 'unknown']) {
    const read = parseState(JSON.stringify({ ...file, lastFindingsCount }));
    assert.deepEqual(read, { kind: 'four-keys', file: { ...file, lastFindingsCount } });
  }
  for (const wrong of [{ iteration: -1 }, { iteration: '2' }, { startedAt: 'today' }, { lastFindingsCount: 'many' }]) {
    assert.equal(parseState(JSON.stringify({ ...file, lastFindingsCount: 0, ...wrong })).kind, 'corrupt');
  }
});

test('Tells a file of a newer program from a corrupt one, whatever else it contains.', () => {
  assert.deepEqual(parseState('{"schemaVersion":3}'), { kind: 'newer', version: 3 });
  for (const version of ['0', '-1', '1', '"2"', 'null', '[]']) {
    assert.equal(parseState(`{"schemaVersion":${version}}`).kind, 'corrupt', version);
  }
});

test('A byte order mark and Windows line ends, as editors leave them, do not make a state corrupt.', () => {
  const text = `\ufeff${serialise(aState()).replaceAll('\n', '\r\n')}`;
  assert.deepEqual(parseState(text), { kind: 'loop', state: aState() });
});

test('Keeps keys that this version does not know.', () => {
  const read = parseState(JSON.stringify({ ...aState(), later: { nested: [1] } }));
  assert.ok(read.kind === 'loop' && 'later' in read.state);
});

test('Keys that are special in JavaScript objects are ordinary data.', () => {
  const text = serialise(aState()).replace('{', '{"__proto__":{"status":"ended"},"constructor":1,');
  const read = parseState(text);
  assert.ok(read.kind === 'loop');
  assert.equal(read.state.status, 'running');
  assert.equal(Object.getPrototypeOf(read.state), Object.prototype);
});
