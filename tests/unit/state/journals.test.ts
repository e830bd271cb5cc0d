import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { appendLine, readLines, readTail } from '../../../src/state/files/journal-lines.ts';
import { aProject } from './a-loop.ts';

test('Lines are read back in order, and the next read starts after the last one.', (t) => {
  const { events } = aProject(t);
  appendLine(events, { n: 1 });
  appendLine(events, { n: 2 });
  const first = readLines(events);
  assert.deepEqual(first, { entries: [{ n: 1 }, { n: 2 }], torn: 0, next: 16 });
  assert.deepEqual(readLines(events, first.next), { entries: [], torn: 0, next: 16 });
  appendLine(events, { n: 3 });
  assert.deepEqual(readLines(events, first.next).entries, [{ n: 3 }]);
});

test('An absent journal has no lines.', (t) => {
  assert.deepEqual(readLines(aProject(t).events), { entries: [], torn: 0, next: 0 });
});

test('A torn last line waits; the next writer terminates it, and it is counted and skipped.', (t) => {
  const { events } = aProject(t);
  appendLine(events, { n: 1 });
  appendFileSync(events, '{"n":');
  const before = readLines(events);
  assert.deepEqual(before, { entries: [{ n: 1 }], torn: 0, next: 8 });
  appendLine(events, { n: 3 });
  assert.deepEqual(readLines(events, before.next), { entries: [{ n: 3 }], torn: 1, next: 22 });
});

test('A journal cut off after any byte loses only the line that was cut.', (t) => {
  const { events } = aProject(t);
  const lines = [{ n: 1, text: 'ü\u2028' }, { n: 2, nested: { a: [1, '}'] } }, { n: 3 }];
  for (const line of lines) appendLine(events, line);
  const bytes = readFileSync(events);
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(events, bytes.subarray(0, length));
    appendLine(events, { n: 'after' });
    const kept = [...bytes.subarray(0, length).toString('latin1').matchAll(/\n/g)].length;
    const { entries, torn } = readLines(events);
    const cutAtTheEnd = bytes[length] === 0x0a; // only the newline is missing, and the next writer gave it
    assert.deepEqual(entries, [...lines.slice(0, kept + (cutAtTheEnd ? 1 : 0)), { n: 'after' }], String(length));
    assert.ok(torn <= 1, String(length));
  }
});

test('Line ends of other formats end no line: CR, U+2028, U+2029, U+0085, escaped newline.', (t) => {
  const { events } = aProject(t);
  const entry = { text: 'a\nb\r\nc\u2028d\u2029e\u0085f\0g\ud800h\u{1f600}' };
  appendLine(events, entry);
  assert.equal(readFileSync(events, 'utf8').split('\n').length, 2);
  assert.deepEqual(readLines(events).entries, [entry]);
});

test('Windows line ends and blank lines from an editor are not torn lines.', (t) => {
  const { events } = aProject(t);
  writeFileSync(events, '{"n":1}\r\n\r\n\n  \n{"n":2}\r\n');
  assert.deepEqual(readLines(events), { entries: [{ n: 1 }, { n: 2 }], torn: 0, next: 24 });
});

test('Blocks of NUL bytes, as after a power cut, lose only their own line.', (t) => {
  const { events } = aProject(t);
  writeFileSync(events, `{"n":1}\n${'\0'.repeat(4096)}`);
  appendLine(events, { n: 2 });
  const { entries, torn } = readLines(events);
  assert.deepEqual({ entries, torn }, { entries: [{ n: 1 }, { n: 2 }], torn: 1 });
});

test('Lines of JSON that are not objects count as torn.', (t) => {
  const { events } = aProject(t);
  writeFileSync(events, '1\n"x"\nnull\n[{}]\n{"n":1}\n');
  const { entries, torn } = readLines(events);
  assert.deepEqual({ entries, torn }, { entries: [{ n: 1 }], torn: 4 });
});

test('Writes and reads a huge line whole.', (t) => {
  const { events } = aProject(t);
  const entry = { text: 'ü'.repeat(5_000_000) };
  appendLine(events, entry);
  appendLine(events, { n: 2 });
  assert.deepEqual(readLines(events).entries, [entry, { n: 2 }]);
});

test('A line longer than the budget is skipped, and further reads reach the lines behind it.', (t) => {
  const { events } = aProject(t);
  appendLine(events, { text: 'x'.repeat(1000) });
  appendLine(events, { n: 2 });
  const entries: object[] = [];
  let from = 0;
  for (let reads = 0; reads < 100; reads++) {
    const lines = readLines(events, from, 64);
    entries.push(...lines.entries);
    if (lines.next === from) break;
    from = lines.next;
  }
  assert.deepEqual(entries, [{ n: 2 }]);
  assert.equal(from, readFileSync(events).length);
});

test('A budget that ends inside a line or a character reads what is complete and continues from there.', (t) => {
  const { events } = aProject(t);
  const all = [
    { n: 1, t: 'üüü' },
    { n: 2, t: 'üüü' },
    { n: 3, t: 'üüü' },
  ];
  for (const line of all) appendLine(events, line);
  for (let budget = 24; budget < 80; budget++) {
    const entries: object[] = [];
    for (let from = 0, last = -1; from !== last; ) {
      last = from;
      const lines = readLines(events, from, budget);
      assert.equal(lines.torn, 0);
      entries.push(...lines.entries);
      from = lines.next;
    }
    assert.deepEqual(entries, all, String(budget));
  }
});

test('Reads a journal that was replaced by a shorter one from its start.', (t) => {
  const { events } = aProject(t);
  appendLine(events, { text: 'long'.repeat(10) });
  const { next } = readLines(events);
  truncateSync(events);
  appendLine(events, { n: 1 });
  assert.deepEqual(readLines(events, next), { entries: [{ n: 1 }], torn: 0, next: 8 });
});

test('A folder in the place of a journal is an error for its writer, and has no lines.', (t) => {
  const { runtimeDir } = aProject(t);
  assert.throws(() => appendLine(runtimeDir, {}), { code: 'EISDIR' });
  assert.deepEqual(readLines(runtimeDir, 7), { entries: [], torn: 0, next: 7 });
});

test('Nothing is written through a link in the place of a journal, which may lead to a file of the user.', (t) => {
  const { runtimeDir, events } = aProject(t);
  const users = join(runtimeDir, 'users.txt');
  writeFileSync(users, 'mine\n');
  symlinkSync(users, events);
  assert.throws(() => appendLine(events, {}), { code: 'ELOOP' });
  assert.equal(readFileSync(users, 'utf8'), 'mine\n');
  rmSync(events);
  appendLine(events, {});
  assert.equal(readFileSync(events, 'utf8'), '{}\n', 'control: without the link');
});

test('A path on which nothing can exist has no lines and does not throw.', (t) => {
  const { runtimeDir, events } = aProject(t);
  appendLine(events, {});
  for (const path of [join(runtimeDir, 'x'.repeat(300)), join(events, 'x'), '/'.repeat(5_000)])
    assert.deepEqual(readLines(path, 7).entries, [], path);
});

test('The end of a journal is read backwards with lines of any length, or without those that nobody wants.', (t) => {
  const { events } = aProject(t);
  const lengths = [3, 70_000, 1, 64 * 1024 - 1, 64 * 1024, 300_000, 20, 131_072, 5];
  const lines = Array.from({ length: 60 }, (_, at) => `${at}${'\u00fc'.repeat(lengths[at % lengths.length] ?? 0)}`);
  lines[7] += 'wanted';
  for (const end of ['', '\n']) {
    writeFileSync(events, `${lines.join('\n')}${end}`);
    const read = (budget: number, holds?: () => readonly string[]): string[] => {
      const found: string[] = [];
      readTail(events, budget, (line) => found.push(line) === 0, holds);
      return found;
    };
    const all = lines.toReversed();
    assert.deepEqual(read(Number.MAX_SAFE_INTEGER), all);
    assert.ok(read(Number.MAX_SAFE_INTEGER, () => ['wanted']).includes(lines[7] ?? ''));
    assert.ok(read(Number.MAX_SAFE_INTEGER, () => ['wanted']).length < 20);
    const some = read(1_500_000);
    assert.ok(some.length > 2 && some.length < all.length);
    assert.deepEqual(some, all.slice(0, some.length));
  }
});
