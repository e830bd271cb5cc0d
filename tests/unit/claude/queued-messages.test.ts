import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { watchQueue } from '../../../src/hosts/claude/transcript/queued-messages.ts';

const NOTIFICATION = '<task-notification>\n<task-id>b1</task-id>\n</task-notification>';
let clock = 0;
const timestamp = () => new Date(1_800_000_000_000 + ++clock * 1000).toISOString();
const operation = (name: string, content?: string) => ({
  type: 'queue-operation',
  operation: name,
  timestamp: timestamp(),
  content,
});
const enqueue = (content: string) => operation('enqueue', content);
const dequeue = operation('dequeue');
const prompt = (promptSource: string) => ({
  type: 'user',
  promptSource,
  timestamp: timestamp(),
  message: { content: 'x' },
});

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-queue-'));
  path = join(folder, 'session.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const lines = (...entries: object[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
const queuedAfter = (...entries: object[]) => {
  writeFileSync(path, lines(...entries));
  return watchQueue(path)();
};

describe('what was queued before the watch began', () => {
  const cases: [string, object[], 'message' | null][] = [
    ['nothing', [prompt('typed')], null],
    ['a message', [prompt('typed'), enqueue('hello')], 'message'],
    ['a message that was served', [enqueue('hello'), dequeue, prompt('queued')], null],
    ['two messages of which one was served', [enqueue('a'), enqueue('b'), dequeue], 'message'],
    ['a message that the turn took in', [enqueue('hello'), operation('remove', 'hello')], null],
    [
      'messages that went back into the input line',
      [enqueue('a'), enqueue('b'), operation('popAll', 'a'), operation('popAll', 'b')],
      null,
    ],
    [
      'a message behind a notification that was served after it',
      [enqueue(NOTIFICATION), enqueue('hello'), dequeue],
      null,
    ],
    ['a notification, which may be for an agent that is gone', [enqueue(NOTIFICATION)], null],
    ['a command, which the client keeps until the loop lets a turn end', [enqueue('/compact')], null],
    ['a message that begins with a path', [enqueue('/tmp/log shows it')], 'message'],
    ['a message behind a command', [enqueue('/compact'), enqueue('hello')], 'message'],
    ['words of another program', [enqueue('<poll-event kind="x"/>')], null],
    ['a message of a client that died', [enqueue('hello'), prompt('typed')], null],
    ['a message of a headless client that died', [enqueue('hello'), prompt('sdk')], null],
  ];
  for (const [name, entries, wanted] of cases) {
    test(`${name}: ${wanted ?? 'nothing is queued'}`, () => assert.equal(queuedAfter(...entries), wanted));
  }

  test('a message from before the earlier prompt, whose line was written late, counts as queued', () => {
    const [first, second] = [prompt('typed'), enqueue('hello')];
    assert.equal(queuedAfter(second, first), 'message');
  });

  test('a notification of a task that ran when the hook was called means that background work has ended', () => {
    writeFileSync(path, lines(enqueue(NOTIFICATION)));
    assert.equal(watchQueue(path, ['b1'])(), 'notification');
    assert.equal(watchQueue(path, ['b2', 'b'])(), null);
  });

  test('is found behind any amount of transcript', () => {
    const noise = { type: 'api-request-blob', body: 'x'.repeat(100_000) };
    assert.equal(queuedAfter(...Array(30).fill(noise), enqueue('hello'), ...Array(3).fill(noise)), 'message');
  });

  test('is not searched for beyond a megabyte', () => {
    const noise = { type: 'api-request-blob', body: 'x'.repeat(100_000) };
    assert.equal(queuedAfter(enqueue('hello'), ...Array(30).fill(noise)), null);
  });
});

describe('what is queued during the watch', () => {
  const watched = (before: object[], ...during: object[]) => {
    writeFileSync(path, lines(...before));
    const queue = watchQueue(path);
    assert.equal(queue(), null, 'control: nobody waits before');
    appendFileSync(path, lines(...during));
    return queue();
  };

  test('reports a message each time', () => {
    assert.equal(watched([], enqueue('hello')), 'message');
  });

  test('reports a command, and a message before it', () => {
    assert.equal(watched([enqueue('/compact')], enqueue('/context all')), 'command');
    assert.equal(watched([], enqueue('/context'), enqueue('hello')), 'message');
  });

  test('reports a notification, and a message before it', () => {
    assert.equal(watched([], enqueue(NOTIFICATION)), 'notification');
    assert.equal(watched([], enqueue(NOTIFICATION), enqueue('hello')), 'message');
  });

  test('does not report a message that was withdrawn', () => {
    assert.equal(watched([], enqueue('hello'), operation('popAll', 'hello')), null);
  });

  test('reports a notification even if an earlier one is answered meanwhile', () => {
    assert.equal(watched([enqueue(NOTIFICATION)], dequeue, enqueue(NOTIFICATION)), 'notification');
  });

  test('reads a partly written line once it is complete', () => {
    const whole = lines(enqueue('hello'));
    writeFileSync(path, whole.slice(0, 20));
    const queue = watchQueue(path);
    assert.equal(queue(), null);
    appendFileSync(path, whole.slice(20));
    assert.equal(queue(), 'message');
  });

  test('reads a transcript that does not exist yet from its start', () => {
    const queue = watchQueue(path);
    assert.equal(queue(), null);
    writeFileSync(path, lines(enqueue('hello')));
    assert.equal(queue(), 'message');
  });
});

test('without a transcript nothing is queued', () => {
  assert.equal(watchQueue(null)(), null);
});
