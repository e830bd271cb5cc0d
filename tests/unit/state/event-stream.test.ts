import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamed } from '../../../src/state/event-stream.ts';

const COMMON = { type: 'agent.text', at: '2026-01-01T00:00:00.000Z', loopId: 'l', iteration: 1 };
const MOST = 64 * 1024;
const size = (event: object): number => Buffer.byteLength(JSON.stringify(event));

const LARGE: readonly (readonly [what: string, more: object])[] = [
  ['one long text', { text: 'x'.repeat(10 * 1024 * 1024) }],
  ['characters of several bytes', { text: '検査'.repeat(20_000) }],
  ['characters that JSON escapes', { text: '\u0000'.repeat(70_000) }],
  ['halves of characters', { text: '\ud83d'.repeat(70_000) }],
  ['many texts', { reasons: Array.from({ length: 40 }, () => 'reason '.repeat(1_000)) }],
  ['a long list', { states: Array.from({ length: 100_000 }, (_, index) => `state ${index}`) }],
  ['a list within lists', { a: [{ b: Array.from({ length: 3_000 }, () => ({ c: 'text '.repeat(20) })) }] }],
];

test('an event has at most 64 KiB whatever is in it, and keeps what it is', () => {
  for (const [what, more] of LARGE) {
    assert.ok(size({ ...COMMON, ...more }) > MOST, 'the control: it is larger');
    const event = streamed({ ...COMMON, ...more });
    assert.ok(size(event) <= MOST, `${what}: ${size(event)} bytes`);
    assert.ok(size(event) > 1_000, `${what}: ${size(event)} bytes are left`);
    for (const [key, value] of Object.entries(COMMON)) assert.equal(event[key], value, what);
    assert.equal(event['v'], 1);
  }
  assert.match(String(streamed({ ...COMMON, text: 'x'.repeat(70_000) })['text']), /^x+… \(70000 characters\)$/);
  assert.deepEqual(streamed({ ...COMMON, text: 'short' }), { v: 1, ...COMMON, text: 'short' }, 'a small one is whole');
});

test('secrets are masked at any depth of an event, and before it is cut', () => {
  const secret = `ghp_${'aB3dE5fG7h'.repeat(4).slice(0, 36)}`;
  // Cut first, the end of the text would hold a part of the secret that no rule knows.
  const text = `${'x'.repeat(11_990)} ${secret} ${'y'.repeat(60_000)}`;
  const event = JSON.stringify(streamed({ ...COMMON, text, more: [{ run: `curl -H "Authorization: ${secret}"` }] }));
  assert.doesNotMatch(event, /ghp_/);
  assert.match(JSON.stringify({ text }), /ghp_/, 'the control');
});
