import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { withLock } from '../../../src/state/lock/lock.ts';
import { newOwner } from '../../../src/state/lock/owner.ts';
import { sweepLeftovers } from '../../../src/state/lock/sweep-leftovers.ts';
import { tddFiles } from '../../../src/state/tdd-store.ts';
import { aProject, aState, putState } from './a-loop.ts';

/** When everything that a test has written is old, however long the tests before it took. */
const later = (): number => Date.now() + 120_000;

function tokenOf(pid: number): string {
  return `${pid.toString(36)}-k3j4h5g6-1abcdefgh`;
}

function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

function names(paths: readonly string[]): string[] {
  return paths.map((path) => basename(path)).sort();
}

test('Removes drafts of dead processes everywhere in the state.', (t) => {
  const files = aProject(t);
  const token = tokenOf(deadPid());
  const marker = `${files.lock}.reap-12345678`;
  const archived = join(files.archiveDir, '2026-02-28T11-00-00Z-complete.json');
  mkdirSync(files.archiveDir, { recursive: true });
  mkdirSync(tddFiles(files).asideDir, { recursive: true });
  mkdirSync(files.outsideDir, { recursive: true });
  const drafts = [
    `${files.lock}.${token}`,
    `${marker}.${token}`,
    `${files.state}.${token}.tmp`,
    `${files.cost}.${token}.tmp`,
    `${archived}.${token}.tmp`,
    `${files.contract}.${token}.tmp`,
    `${tddFiles(files).state}.${token}.tmp`,
    `${tddFiles(files).record}.${token}.tmp`,
    `${tddFiles(files).lock}.${token}`,
    join(tddFiles(files).asideDir, `2026-02-28T11-00-00Z-list.json.${token}.tmp`),
  ];
  for (const draft of drafts) writeFileSync(draft, '');
  for (const folder of [`${files.lock}.${token}.folder`, `${marker}.${token}.folder`]) {
    mkdirSync(folder);
    drafts.push(folder);
  }
  writeFileSync(join(`${marker}.${token}.folder`, 'owner'), '');
  assert.deepEqual(names(sweepLeftovers(files, later())), names(drafts));
  assert.deepEqual(sweepLeftovers(files, later()), []);
});

test('Keeps drafts of living processes and those younger than a minute.', (t) => {
  const files = aProject(t);
  writeFileSync(`${files.state}.${tokenOf(process.pid)}.tmp`, '');
  assert.deepEqual(sweepLeftovers(files, later()), []);
  writeFileSync(`${files.state}.${tokenOf(deadPid())}.tmp`, '');
  assert.deepEqual(sweepLeftovers(files), []);
  assert.equal(readdirSync(files.runtimeDir).length, 2);
});

test('Keeps everything that is not our own left-over.', (t) => {
  const files = aProject(t);
  putState(files, aState());
  const token = tokenOf(deadPid());
  const others = [
    'notes.json',
    `notes.json.${token}`,
    `ralph-events.jsonl`,
    `ralph-state.json.lock`,
    'a.b-2026-deployment',
  ];
  for (const name of others) writeFileSync(join(files.runtimeDir, name), '');
  mkdirSync(join(files.runtimeDir, `ralph-archive.x.json.${token}`));
  const before = readdirSync(files.runtimeDir);
  assert.deepEqual(sweepLeftovers(files, later()), []);
  assert.deepEqual(readdirSync(files.runtimeDir), before);
});

test('Removes markers of dead reapers when their lock is gone, and keeps them while it exists.', (t) => {
  const files = aProject(t);
  const dead = { ...newOwner(), pid: deadPid() };
  const marker = `${files.lock}.reap-${dead.token.slice(-8)}`;
  const second = `${marker}.reap-87654321`;
  writeFileSync(files.lock, JSON.stringify(dead));
  writeFileSync(marker, JSON.stringify({ ...newOwner(), pid: dead.pid }));
  writeFileSync(second, JSON.stringify({ ...newOwner(), pid: dead.pid }));
  assert.deepEqual(names(sweepLeftovers(files, later())), []);
  withLock(files.lock, () => undefined);
  writeFileSync(marker, JSON.stringify({ ...newOwner(), pid: dead.pid }));
  writeFileSync(second, JSON.stringify({ ...newOwner(), pid: dead.pid }));
  const folder = `${files.lock}.reap-abcdefgh`; // as it is made without hard links
  mkdirSync(folder);
  writeFileSync(join(folder, 'owner'), JSON.stringify({ ...newOwner(), pid: dead.pid }));
  assert.deepEqual(names(sweepLeftovers(files, later())), names([marker, second, folder]));
  assert.deepEqual(readdirSync(files.runtimeDir), []);
});

test('Removes markers of every kind of lock: of loops, scenario lists and routers.', (t) => {
  const files = aProject(t);
  mkdirSync(files.outsideDir, { recursive: true });
  const dead = (token: string): string => JSON.stringify({ ...newOwner(), pid: deadPid(), token });
  const locks = [
    tddFiles(files).lock,
    tddFiles({ ...files, name: 'docs' }).lock,
    join(files.outsideDir, 'router.at-work.2.lock'),
    join(files.outsideDir, 'runner.holder.lock'),
  ];
  const spent = locks.flatMap((lock) => [`${lock}.reap-12345678`, `${lock}.reap-12345678.reap-87654321`]);
  for (const marker of spent) writeFileSync(marker, dead('any'));
  const [first = ''] = locks;
  writeFileSync(first, dead('a-lock-of-98765432'));
  const needed = `${first}.reap-98765432`;
  writeFileSync(needed, dead('any'));
  assert.deepEqual(names(sweepLeftovers(files, later())), names(spent));
  assert.deepEqual(readdirSync(files.runtimeDir).sort(), names([first, needed]));
});

test('Keeps markers of living reapers, and one for a lock without an owner.', (t) => {
  const files = aProject(t);
  writeFileSync(`${files.lock}.reap-12345678`, JSON.stringify(newOwner()));
  writeFileSync(`${files.lock}.reap-`, JSON.stringify({ ...newOwner(), pid: deadPid() }));
  assert.deepEqual(sweepLeftovers(files, later()), []);
});

test('Does nothing for a loop that never ran.', (t) => {
  assert.deepEqual(sweepLeftovers(aProject(t), later()), []);
});
