import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { recordEvent } from '../../../../src/drive/records/journal.ts';
import { noticeLines } from '../../../../src/engine/end-report.ts';
import { recordNotice } from '../../../../src/state/event-stream.ts';
import { readLines } from '../../../../src/state/files/journal-lines.ts';
import { type LoopFiles, loopFiles, makeRuntimeDir, noticesOf } from '../../../../src/state/loop-files.ts';
import { localTime } from '../../../../src/text/time.ts';
import { emptyFolder } from '../../../support/folder.ts';

const at = '2026-01-01T15:54:00.000Z';
const loop = { loopId: 'l', iteration: 2 };

function filesIn(context: TestContext): LoopFiles {
  const root = emptyFolder(context);
  const files = loopFiles(root, null, { XDG_STATE_HOME: join(root, 'state') });
  makeRuntimeDir(files);
  return files;
}

test('a notice is kept outside the project and in the journal, on one line', (t) => {
  const files = filesIn(t);
  const details = { terminal: '/dev/pts/3', diff: ['validation: a -> b'] };
  recordNotice(files, loop, { at, kind: 'accept', text: 'one\ntwo', details });
  recordNotice(files, { ...loop, loopId: 'other' }, { at, kind: 'restore', text: 'b.txt' });
  assert.deepEqual(noticesOf(files, 'l'), [{ at, kind: 'accept', text: 'one two' }]);
  assert.deepEqual(readLines(files.events).entries[0], {
    ...{ v: 1, type: 'notice.accept', at, ...loop, message: 'one two' },
    ...details,
  });
  assert.deepEqual(noticeLines(noticesOf(files, 'l')), [`Changed by accept at ${localTime(at)}: one two`]);
});

test('events that cannot be stored are named once', (t) => {
  const files = filesIn(t);
  const event = { type: 'iteration.started', at, ...loop };
  recordEvent(files, at, event);
  assert.deepEqual(noticesOf(files, 'l'), [], 'control: the first is stored');
  rmSync(files.events);
  mkdirSync(files.events);
  for (const _ of [1, 2]) recordEvent(files, at, event);
  const [notice, ...more] = noticesOf(files, 'l');
  assert.match(notice?.text ?? '', /^events are not recorded: .*ralph-events\.jsonl/);
  assert.deepEqual(more, []);
});

test('records a notice with the same key once in a loop', (t) => {
  const files = filesIn(t);
  for (const loopId of ['l', 'l', 'other']) {
    recordNotice(files, { ...loop, loopId }, { at, kind: 'change', text: loopId, key: 'npmrc' });
  }
  assert.equal(noticesOf(files, 'l').length, 1);
  assert.equal(noticesOf(files, 'other').length, 1);
  assert.equal(readLines(files.events).entries.length, 2);
});

test('a line torn by a kill loses no other notice, and the previous part of a large file is kept', (t) => {
  const files = filesIn(t);
  recordNotice(files, loop, { at, kind: 'accept', text: 'first' });
  appendFileSync(files.notices, '{"at":"2026');
  recordNotice(files, loop, { at, kind: 'accept', text: 'second' });
  appendFileSync(files.notices, `${JSON.stringify({ loopId: 'x', text: 'x'.repeat(1024 * 1024) })}\n`);
  recordNotice(files, loop, { at, kind: 'restore', text: 'third' });
  assert.ok(existsSync(`${files.notices}.1`));
  assert.ok(statSync(files.notices).size < 1_000);
  assert.deepEqual(
    noticesOf(files, 'l').map(({ text }) => text),
    ['first', 'second', 'third'],
  );
});

test('shows the newest of many notices and the number of the others', () => {
  const notices = Array.from({ length: 15 }, (_, index) => ({ at, kind: 'restore' as const, text: `f${index}` }));
  const lines = noticeLines(notices);
  assert.equal(lines.length, 13);
  assert.deepEqual([lines[0], lines[1]], ['[3 earlier notices: ralph-loop logs]', `Restored at ${localTime(at)}: f3`]);
});
