import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchQueue } from '../../../src/hosts/claude/transcript/queued-messages.ts';
import { apiFailure, lastApiError } from '../../../src/hosts/claude/transcript/transcript.ts';
import { parseHookInput } from '../../../src/hosts/hook-io/hook-input.ts';
import { readUsage } from '../../../src/hosts/read-usage.ts';
import { emptyFolder } from '../../support/folder.ts';

/** JSON that has no way to become a string: String() throws on it. */
const NO_TEXT = { toString: 1, valueOf: 1 };
const MARKS = { transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [], callsBytes: 0 };

function transcript(t: TestContext, ...entries: object[]): string {
  const directory = emptyFolder(t);
  const path = join(directory, 'transcript.jsonl');
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return path;
}

test('An API error that is an object is still recorded.', (t) => {
  const path = transcript(t, { type: 'assistant', isApiErrorMessage: true, error: NO_TEXT, message: null });
  assert.deepEqual(lastApiError(path), { kind: '', message: '', resetsAt: null, at: null });
  assert.equal(apiFailure({ error: NO_TEXT }, path).kind, 'other');
});

test('A limit that resets after the year 9999 is stored without a time.', (t) => {
  const limited = (resetsAt: number): object => ({
    ...{ type: 'assistant', isApiErrorMessage: true, error: 'rate_limit', message: {} },
    quotaLimits: { resetsAt },
  });
  const last = apiFailure({}, transcript(t, limited(253_402_300_799)));
  assert.deepEqual([last.kind, last.resetsAt], ['rate-limited', '9999-12-31T23:59:59.000Z']);
  assert.equal(apiFailure({}, transcript(t, limited(253_402_300_800))).resetsAt, null);
});

test('A token count beyond safe integers never makes a total that a state file cannot hold.', (t) => {
  const used = (id: string, input_tokens: number): object => ({
    ...{ type: 'assistant', message: { id, usage: { input_tokens, output_tokens: 1 } } },
  });
  const path = transcript(t, used('m1', 1.7e308), used('m2', 1.7e308), used('m3', 7));
  const { usage } = readUsage(path, { transcriptPath: path, ...MARKS });
  assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [7, 3]);
});

test('Tokens count behind 40 MB of images and a torn line, and once in a line whose end comes later.', (t) => {
  const used = (id: string): object => ({ type: 'assistant', message: { id, usage: { input_tokens: 5 } } });
  const image = { type: 'user', message: { content: 'A'.repeat(20_000_000) } };
  const path = transcript(t, used('m1'), image, image);
  appendFileSync(
    path,
    `{"type":"assistant","message":{"id":"cut"\n${JSON.stringify(used('m2'))}\n${JSON.stringify(used('m3'))}`,
  );
  const { usage, marks } = readUsage(path, { transcriptPath: path, ...MARKS });
  assert.equal(usage?.inputTokens, 10);
  appendFileSync(path, '\n');
  assert.equal(readUsage(path, marks).usage?.inputTokens, 5, 'what is written later is read later');
});

test('A queued message that is an object does not throw and end the wait.', (t) => {
  const queued = { type: 'queue-operation', operation: 'enqueue', content: NO_TEXT, timestamp: NO_TEXT };
  const typed = { type: 'user', promptSource: 'typed', timestamp: NO_TEXT };
  const queue = watchQueue(transcript(t, queued, typed), ['t1']);
  assert.equal(queue(), 'message');
});

test('A path with a NUL character counts as missing and does not throw.', () => {
  const input = parseHookInput(
    JSON.stringify({ hook_event_name: 'Stop', session_id: 's', transcript_path: 'a\0b', cwd: '/\0' }),
  );
  assert.deepEqual([input?.transcriptPath, input?.cwd], [null, process.cwd()]);
});
