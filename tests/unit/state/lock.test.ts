import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withLock } from '../../../src/state/lock/lock.ts';
import { newOwner } from '../../../src/state/lock/owner.ts';
import { RalphError } from '../../../src/text/message.ts';
import { aProject, leftovers } from './a-loop.ts';

/** The process id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

function timesOut(work: () => unknown): void {
  assert.throws(work, (error) => error instanceof RalphError && error.code === 'lock-timeout');
}

test('The work runs while the lock file names this process, and its result is returned.', (t) => {
  const { lock } = aProject(t);
  const owner = withLock(lock, () => JSON.parse(readFileSync(lock, 'utf8')));
  assert.equal(owner.pid, process.pid);
});

test('Nothing is left in the folder after the work, even if it failed.', (t) => {
  const files = aProject(t);
  withLock(files.lock, () => undefined);
  assert.throws(() => withLock(files.lock, () => assert.fail('the work failed')), /the work failed/);
  assert.deepEqual(leftovers(files), []);
});

test('Waits for a lock of a living process, then reports that process.', (t) => {
  const { lock } = aProject(t);
  withLock(lock, () => {
    assert.throws(() => withLock(lock, () => 'never', 30), new RegExp(`held by process ${process.pid}`));
  });
});

test('Takes the lock of a dead process, even for a contender that may not wait.', (t) => {
  const files = aProject(t);
  writeFileSync(files.lock, JSON.stringify({ ...newOwner(), pid: deadPid() }));
  assert.equal(
    withLock(files.lock, () => 'held', 0),
    'held',
  );
  assert.deepEqual(leftovers(files), []);
});

test('A process with the id of the dead owner but another start time does not keep its lock.', (t) => {
  const { lock } = aProject(t);
  const owner = newOwner();
  if (owner.startedAt === null) return t.skip('this system tells no start times');
  writeFileSync(lock, JSON.stringify({ ...owner, startedAt: `${owner.startedAt}0` }));
  assert.equal(
    withLock(lock, () => 'held', 0),
    'held',
  );
});

test('A lock of process 0 or below is dead: such an id would mean our own process group.', (t) => {
  const { lock } = aProject(t);
  for (const pid of [0, -1]) {
    writeFileSync(lock, JSON.stringify({ ...newOwner(), pid }));
    assert.equal(
      withLock(lock, () => 'held', 0),
      'held',
    );
  }
});

test('Respects a lock of another machine for a minute, because its owner cannot be checked.', (t) => {
  const { lock } = aProject(t);
  writeFileSync(lock, JSON.stringify({ ...newOwner(), pid: deadPid(), host: 'another' }));
  timesOut(() => withLock(lock, () => 'never', 0));
  const longAgo = new Date(Date.now() - 61_000);
  utimesSync(lock, longAgo, longAgo);
  assert.equal(
    withLock(lock, () => 'held', 0),
    'held',
  );
});

test('Tells two machines on one network file system apart that have the same first process namespace.', (t) => {
  const { host } = newOwner();
  if (process.platform !== 'linux') return t.skip('Linux only');
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
  assert.match(host, new RegExp(`^${boot} pid:\\[\\d+\\]$`));
});

test('An empty or torn lock file has no owner: power was cut before its content reached the disk.', (t) => {
  const files = aProject(t);
  for (const content of ['', '{"pid":1', 'null', '[]', '{"pid":1,"token":""}', '\0\0\0\0']) {
    writeFileSync(files.lock, content);
    assert.equal(
      withLock(files.lock, () => 'held', 0),
      'held',
      JSON.stringify(content),
    );
  }
  assert.deepEqual(leftovers(files), []);
});

test('A lock that is a folder, as without hard links, is respected and taken like any other.', (t) => {
  const files = aProject(t);
  const owner = newOwner();
  mkdirSync(files.lock);
  writeFileSync(join(files.lock, 'owner'), JSON.stringify(owner));
  timesOut(() => withLock(files.lock, () => 'never', 0));
  for (const content of [JSON.stringify({ ...owner, pid: deadPid() }), '']) {
    mkdirSync(files.lock, { recursive: true });
    writeFileSync(join(files.lock, 'owner'), content);
    assert.equal(
      withLock(files.lock, () => 'held', 0),
      'held',
    );
    assert.deepEqual(leftovers(files), []);
  }
});

for (const depth of [1, 2, 5]) {
  test(`Takes a lock although ${depth} reapers in a row died while they held their markers.`, (t) => {
    const files = aProject(t);
    let path = files.lock;
    for (let marker = 0; marker <= depth; marker++) {
      const owner = { ...newOwner(), pid: deadPid() };
      writeFileSync(path, JSON.stringify(owner));
      path = `${path}.reap-${owner.token.slice(-8)}`;
    }
    assert.equal(
      withLock(files.lock, () => 'held', 0),
      'held',
    );
    assert.deepEqual(leftovers(files), []);
  });
}

test('Respects the marker of a living reaper, and the contender names it.', (t) => {
  const { lock } = aProject(t);
  const dead = { ...newOwner(), pid: deadPid() };
  writeFileSync(lock, JSON.stringify(dead));
  const marker = `${lock}.reap-${dead.token.slice(-8)}`;
  writeFileSync(marker, JSON.stringify(newOwner()));
  timesOut(() => withLock(lock, () => 'never', 0));
  unlinkSync(marker);
  assert.equal(
    withLock(lock, () => 'held', 0),
    'held',
  );
});

test('The markers of the longest loop name still fit into a file name at the greatest depth.', (t) => {
  const files = aProject(t, 'n'.repeat(64));
  const longest = `${files.lock}${'.reap-12345678'.repeat(8)}.zzzzz-0123456789abc-zzz12345678.folder`;
  writeFileSync(longest, '');
  assert.ok(existsSync(longest));
});

test('A lock that was deleted and taken by another is not released by the first holder, which is informed.', (t) => {
  const { lock } = aProject(t);
  const other = JSON.stringify({ ...newOwner(), token: 'other' });
  assert.throws(
    () =>
      withLock(lock, (assertHeld) => {
        assertHeld();
        unlinkSync(lock);
        assert.throws(assertHeld, /was taken away/);
        writeFileSync(lock, other);
        assert.throws(assertHeld, /was taken away/);
      }),
    (error) => error instanceof RalphError && error.code === 'state-io',
  );
  assert.equal(readFileSync(lock, 'utf8'), other);
});

test("A dangling link or an empty folder in the lock's place ends in an error, never in an endless wait.", (t) => {
  const { lock } = aProject(t);
  symlinkSync('/nowhere/at/all', lock);
  timesOut(() => withLock(lock, () => 'never', 30));
  unlinkSync(lock);
  mkdirSync(lock);
  timesOut(() => withLock(lock, () => 'never', 30));
});

test('A contender that gave up leaves nothing in the folder.', (t) => {
  const files = aProject(t);
  withLock(files.lock, () => timesOut(() => withLock(files.lock, () => 'never', 50)), 0);
  assert.deepEqual(readdirSync(files.runtimeDir), []);
});
