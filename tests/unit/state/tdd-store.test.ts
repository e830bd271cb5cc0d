import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TddRecord } from '../../../src/engine/schema/tdd.ts';
import { type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';
import type { FoundTdd } from '../../../src/state/tdd-store.ts';
import { keepOldRecord, peekTdd, publishedState, tddFiles, withTdd } from '../../../src/state/tdd-store.ts';
import { RalphError } from '../../../src/text/message.ts';
import { emptyFolder } from '../../support/folder.ts';
import { AT, after, aList } from '../../support/tdd-list.ts';

function aProject(context: TestContext): LoopFiles {
  const root = emptyFolder(context);
  mkdirSync(join(root, 'project'));
  return loopFiles(join(root, 'project'), null, { XDG_STATE_HOME: join(root, 'outside') });
}

function put(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

const keep = (files: LoopFiles, next: TddRecord): void => withTdd(files, AT, () => ({ next, result: undefined }));
const look = (files: LoopFiles): FoundTdd => withTdd(files, AT, (found) => ({ next: 'keep', result: found }));
const shown = (files: LoopFiles): unknown => JSON.parse(readFileSync(tddFiles(files).state, 'utf8'));
const aside = (files: LoopFiles): string[] => {
  const { asideDir } = tddFiles(files);
  return existsSync(asideDir) ? readdirSync(asideDir) : [];
};
const PROVED = after(aList(2), 'sc-001 red', 'sc-001 green');

test('reading creates nothing where there is nothing', (context) => {
  const files = aProject(context);
  assert.deepEqual(look(files), { kind: 'none', left: { kind: 'absent' } });
  assert.deepEqual(readdirSync(files.projectDir), []);
});

test('what was proved is outside the project, readable by its owner only, and shown in the project', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const { record, lock } = tddFiles(files);
  assert.ok(record.startsWith(files.outsideDir));
  assert.equal(statSync(record).mode & 0o777, 0o600);
  assert.deepEqual(shown(files), publishedState(PROVED));
  assert.equal(existsSync(lock), false);
  assert.deepEqual(look(files), { kind: 'list', record: PROVED, notes: [] });
  assert.deepEqual(peekTdd(files), PROVED);
});

test('a named loop has its own list', (context) => {
  const files = aProject(context);
  const named = loopFiles(files.projectDir, 'docs', { XDG_STATE_HOME: dirname(dirname(files.outsideDir)) });
  keep(named, PROVED);
  assert.equal(look(files).kind, 'none');
  assert.match(tddFiles(named).state, /tdd-state\.docs\.json$/);
});

const LEFT: readonly (readonly [string, unknown, RegExp | string])[] = [
  ['an empty file', '', 'empty'],
  ['white space', ' \n', 'empty'],
  ['no JSON', '{"scenarios": [', /JSON/],
  ['another value', '[1]', /must be/],
  ['an object that lacks the keys', {}, /missing/],
  ['wrong types', { ...publishedState(PROVED), evidenceLog: 'none' }, /evidenceLog must be array/],
  [
    'brackets a thousand deep',
    JSON.stringify({ ...publishedState(PROVED), note: 0 }).replace('0}', `${'['.repeat(1_000)}${']'.repeat(1_000)}}`),
    /nested/,
  ],
];
for (const [what, content, problem] of LEFT) {
  test(`reports an invalid state and loses nothing, with and without a list: ${what}`, (context) => {
    const files = aProject(context);
    const { state } = tddFiles(files);
    put(state, content);
    const before = readFileSync(state, 'utf8');
    const found = look(files);
    assert.ok(found.kind === 'none');
    if (typeof problem === 'string') assert.equal(found.left.kind, problem);
    else assert.match(found.left.kind === 'unusable' ? found.left.problem : '', problem);
    assert.equal(readFileSync(state, 'utf8'), before, 'nothing is touched by a look');

    keep(files, PROVED);
    assert.deepEqual(shown(files), publishedState(PROVED));
    const [moved = ''] = aside(files);
    assert.equal(readFileSync(join(tddFiles(files).asideDir, moved), 'utf8'), before, 'moved aside, whole');

    put(state, content);
    const again = look(files);
    assert.ok(again.kind === 'list');
    assert.equal(again.notes.length, 1);
    assert.deepEqual(shown(files), publishedState(PROVED));
  });
}

test('recreates a missing state and reports that once', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  rmSync(tddFiles(files).state);
  const first = look(files);
  assert.ok(first.kind === 'list');
  assert.match(first.notes[0] ?? '', /was missing/);
  assert.deepEqual(shown(files), publishedState(PROVED));
  const second = look(files);
  assert.deepEqual(second.kind === 'list' && second.notes, []);
});

test('survives the loss of the whole runtime folder', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  rmSync(join(files.projectDir, '.claude'), { recursive: true });
  assert.equal(look(files).kind, 'list');
  assert.deepEqual(shown(files), publishedState(PROVED));
});

test('moves a forged state aside whole, ignores it and reports it', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const forged = publishedState(after(PROVED, 'sc-002 red', 'sc-002 green'));
  put(tddFiles(files).state, { ...forged, note: 'kept' });
  const found = look(files);
  assert.ok(found.kind === 'list');
  assert.deepEqual(found.record, PROVED);
  assert.match(found.notes[0] ?? '', /claimed proofs that do not exist/);
  assert.deepEqual(shown(files), { ...publishedState(PROVED), note: 'kept' });
  const [moved = ''] = aside(files);
  assert.match(moved, /-tampered\.json$/);
  assert.deepEqual(JSON.parse(readFileSync(join(tddFiles(files).asideDir, moved), 'utf8')), {
    ...forged,
    note: 'kept',
  });
});

test('updates a state that is behind its record silently', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  put(tddFiles(files).state, publishedState(after(aList(2), 'sc-001 red')));
  const found = look(files);
  assert.deepEqual(found.kind === 'list' && found.notes, []);
  assert.deepEqual(shown(files), publishedState(PROVED));
  assert.deepEqual(aside(files), []);
});

test('does not read a state that links to an endless file', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const { state } = tddFiles(files);
  const big = join(files.projectDir, 'big');
  writeFileSync(big, '');
  truncateSync(big, 2 ** 40);
  rmSync(state);
  symlinkSync(big, state);
  const found = look(files);
  assert.match((found.kind === 'list' && found.notes[0]) || '', /it has 1099511627776 bytes/);
  assert.deepEqual(shown(files), publishedState(PROVED));
});

test('a list that takes over a state is written before that state is moved, so that a crash loses nothing', (context) => {
  const files = aProject(context);
  const { state, asideDir } = tddFiles(files);
  put(state, publishedState(PROVED));
  put(asideDir, 'in the way');
  assert.throws(() => keep(files, PROVED), /EEXIST/);
  rmSync(asideDir);
  const found = look(files);
  assert.deepEqual(found.kind === 'list' && found.record, PROVED);
});

test('records nothing that could not be read back', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const output = 'x'.repeat(64 * 1024 * 1024);
  const log = [...PROVED.log, { scenarioId: 'sc-002', phase: 'red' as const, output, timestamp: AT }];
  assert.throws(
    () => keep(files, { ...PROVED, log }),
    (error) => error instanceof RalphError && /nothing was recorded/.test(error.message),
  );
  assert.deepEqual(look(files), { kind: 'list', record: PROVED, notes: [] });
});

test('an abandoned list is kept without the environment of the user who approved it', (context) => {
  const files = aProject(context);
  withTdd(files, AT, () => {
    keepOldRecord(files, AT, { ...PROVED, environment: { PATH: '/secret' } });
    return { next: 'keep', result: undefined };
  });
  const [kept = ''] = aside(files);
  assert.deepEqual(JSON.parse(readFileSync(join(tddFiles(files).asideDir, kept), 'utf8')), PROVED);
});

test('leaves files of a newer program alone, and names them in the message', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const { state, record } = tddFiles(files);
  for (const [path, content] of [
    [state, { ...publishedState(PROVED), schemaVersion: 2 }],
    [record, { ...PROVED, recordVersion: 5 }],
  ] as const) {
    put(path, content);
    const before = readFileSync(path, 'utf8');
    assert.throws(
      () => keep(files, aList(1)),
      (error) => error instanceof RalphError && error.code === 'state-newer' && error.message.includes(path),
    );
    assert.equal(readFileSync(path, 'utf8'), before);
    put(path, path === state ? publishedState(PROVED) : PROVED);
  }
});

test('leaves an unreadable record alone and creates nothing in its place', (context) => {
  const files = aProject(context);
  keep(files, PROVED);
  const { record } = tddFiles(files);
  for (const content of ['', '{', { ...PROVED, log: null }, { ...PROVED, scenarios: [{ id: 'x' }] }]) {
    put(record, content);
    const before = readFileSync(record, 'utf8');
    assert.throws(
      () => keep(files, aList(1)),
      (error) => error instanceof RalphError && error.code === 'contract-changed',
    );
    assert.equal(readFileSync(record, 'utf8'), before);
    assert.equal(peekTdd(files), null);
  }
});
