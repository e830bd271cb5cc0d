import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { readState } from '../../../src/state/loop-files.ts';
import { archiveState, listArchive, quarantine, serialise } from '../../../src/state/with-state.ts';
import { anEndedState, aProject, aState, putState } from './a-loop.ts';

const AT = '2026-02-28T11:00:00Z';

test('A finished loop is completely in the archive, under its time and its status.', (t) => {
  const files = aProject(t);
  const path = archiveState(files, anEndedState(), AT, 'complete');
  assert.equal(path, join(files.archiveDir, '2026-02-28T11-00-00Z-complete.json'));
  assert.equal(readFileSync(path, 'utf8'), serialise(anEndedState()));
});

test('A loop that is archived again after a crash before its removal is there once, however often.', (t) => {
  const files = aProject(t);
  const path = archiveState(files, anEndedState(), AT, 'complete');
  for (let crash = 0; crash < 3; crash++) assert.equal(archiveState(files, anEndedState(), AT, 'complete'), path);
  assert.equal(readdirSync(files.archiveDir).length, 1);
});

test('Two loops that ended alike in the same second are both archived, once each.', (t) => {
  const files = aProject(t);
  const another = { ...anEndedState(), loopId: 'loop-2' };
  const paths = [anEndedState(), another, anEndedState(), another].map((state) =>
    archiveState(files, state, AT, 'complete'),
  );
  assert.deepEqual(
    paths.map((path) => basename(path)),
    Array(2).fill(['2026-02-28T11-00-00Z-complete.json', '2026-02-28T11-00-00Z-complete.2.json']).flat(),
  );
  assert.equal(readdirSync(files.archiveDir).length, 2);
});

test('A folder with the name of the archived loop does not prevent archiving.', (t) => {
  const files = aProject(t);
  mkdirSync(join(files.archiveDir, '2026-02-28T11-00-00Z-complete.json'), { recursive: true });
  const path = archiveState(files, anEndedState(), AT, 'complete');
  assert.equal(readFileSync(path, 'utf8'), serialise(anEndedState()));
});

test('Moves an unusable state aside byte for byte and never over another one.', (t) => {
  const files = aProject(t);
  const texts = ['{"iter', '', '\0\0'];
  const moved = texts.map((text) => {
    writeFileSync(files.state, text);
    return quarantine(files, AT, 'corrupt');
  });
  assert.deepEqual(
    moved.map((path) => readFileSync(path, 'utf8')),
    texts,
  );
  assert.deepEqual(readState(files.state), { kind: 'absent' });
});

test('Moves a folder in the place of the state aside with its content.', (t) => {
  const files = aProject(t);
  mkdirSync(files.state);
  writeFileSync(join(files.state, 'note'), 'kept');
  const moved = quarantine(files, AT, 'corrupt');
  assert.equal(readFileSync(join(moved, 'note'), 'utf8'), 'kept');
});

test('The list is in order of time, including fractions of seconds and copies.', (t) => {
  const files = aProject(t);
  const inOrder = [
    ['2026-02-28T11:00:00Z', 'loop-a'],
    ['2026-02-28T11:00:00Z', 'loop-b'],
    ['2026-02-28T11:00:00.500Z', 'loop-c'],
    ['2026-02-28T11:00:00.75Z', 'loop-d'],
    ['2026-02-28T11:00:01Z', 'loop-e'],
  ] as const;
  for (const [at, loopId] of [...inOrder].sort(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0))) {
    archiveState(files, { ...anEndedState(at), loopId }, at, 'complete');
  }
  const ids = listArchive(files).map(({ content }) => content.kind === 'loop' && content.state.loopId);
  assert.deepEqual(
    ids,
    inOrder.map(([, id]) => id),
  );
});

test('More than nine copies stay in order.', (t) => {
  const files = aProject(t);
  const ids = Array.from({ length: 12 }, (_, index) => `loop-${index}`);
  for (const loopId of ids) archiveState(files, { ...anEndedState(), loopId }, AT, 'complete');
  assert.deepEqual(
    listArchive(files).map(({ content }) => content.kind === 'loop' && content.state.loopId),
    ids,
  );
});

test('The list skips foreign entries, and an unusable one does not hide the others.', (t) => {
  const files = aProject(t);
  assert.deepEqual(listArchive(files), []);
  archiveState(files, anEndedState(), AT, 'complete');
  writeFileSync(join(files.archiveDir, 'notes.txt'), '');
  writeFileSync(join(files.archiveDir, '2026-02-28T11-00-00Z-complete.json.1-2-abcdefghi.tmp'), '');
  mkdirSync(join(files.archiveDir, '2026-02-28T12-00-00Z-corrupt.json'));
  assert.deepEqual(
    listArchive(files).map(({ content }) => content.kind),
    ['loop', 'corrupt'],
  );
});

test('A named loop has its own archive.', (t) => {
  const files = aProject(t, 'night');
  putState(files, aState({ name: 'night' }));
  assert.match(quarantine(files, AT, 'tampered'), /ralph-archive\.night[/\\]2026-02-28T11-00-00Z-tampered\.json$/);
});
