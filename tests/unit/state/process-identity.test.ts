import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { identityOf, isAlive } from '../../../src/state/process/identity.ts';
import { aProject } from './a-loop.ts';

const onLinux = { skip: process.platform !== 'linux' && 'Linux tells start times' };

test('This process is alive, and a process that ended is not.', () => {
  assert.equal(isAlive(identityOf(process.pid)), true);
  assert.equal(isAlive({ pid: spawnSync(process.execPath, ['-e', '']).pid, startedAt: null }), false);
});

test('The same process always has the same identity.', () => {
  assert.deepEqual(identityOf(process.pid), identityOf(process.pid));
});

test('Tells a reused process id from the old process by the start time.', onLinux, () => {
  assert.equal(isAlive({ pid: process.pid, startedAt: 'an earlier one' }), false);
});

test('Without a start time the id alone decides, so that a living process never counts as dead.', () => {
  assert.equal(isAlive({ pid: process.pid, startedAt: null }), true);
});

test('Process 1 is alive for any caller.', onLinux, () => {
  assert.equal(isAlive({ pid: 1, startedAt: null }), true);
});

test('Impossible process ids are dead.', () => {
  for (const pid of [0, -1, -process.pid, 1.5, Number.NaN, 2 ** 40]) {
    assert.equal(isAlive({ pid, startedAt: null }), false, String(pid));
  }
});

test('A killed process that was not waited for yet is dead: it can write nothing more.', onLinux, async () => {
  // The shell starts a child, says its number, and never waits for it.
  const shell = spawn('sh', ['-c', 'sleep 300 & echo $!; exec sleep 300'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [output] = await once(shell.stdout, 'data');
    const pid = Number(String(output));
    const identity = identityOf(pid);
    assert.equal(isAlive(identity), true);
    process.kill(pid, 'SIGKILL');
    while (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] !== 'Z') await new Promise(setImmediate);
    assert.equal(isAlive(identity), false);
    assert.equal(identityOf(pid).startedAt, null);
  } finally {
    shell.kill('SIGKILL');
  }
});

test('Reads a program whose name contains brackets and spaces correctly.', onLinux, async (t) => {
  const program = join(aProject(t).runtimeDir, 'a) R 1 (b');
  symlinkSync('/bin/sleep', program);
  // Where many programs are one, that one goes by the name that it is called by.
  const child = spawn(program, ['300'], { argv0: 'sleep' });
  try {
    await once(child, 'spawn');
    const identity = identityOf(child.pid ?? 0);
    assert.match(identity.startedAt ?? '', /^[0-9a-f]{8}:\d+$/);
    assert.equal(isAlive(identity), true);
  } finally {
    child.kill('SIGKILL');
  }
});
