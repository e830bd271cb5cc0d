import assert from 'node:assert/strict';
import { existsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemErrorText } from '../../../src/cli/command-line.ts';
import { uniqueToken, withDescriptor } from '../../../src/state/files/regular-file.ts';
import { emptyFolder } from '../../support/folder.ts';

const failed = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(code), { code, syscall, path });
const below = join(tmpdir(), 'no-such-folder', 'nor-this');

test('a folder that cannot be created on a read-only file system is not blamed on a file in its way', () => {
  const asked: string[] = [];
  const text = systemErrorText(failed('ENOENT', 'mkdir', below), (folder) => {
    asked.push(folder);
    return 'EROFS';
  });
  assert.match(text ?? '', /nor-this cannot be used: the file system is read-only \(EROFS, mkdir\)/);
  assert.deepEqual(asked, [tmpdir()], 'the nearest folder that is there says why');
});

test('names a link or a file in the way where the folder above is writable', () => {
  assert.match(systemErrorText(failed('ENOENT', 'mkdir', below)) ?? '', /broken link.*\(ENOENT, mkdir\)/);
  assert.match(systemErrorText(failed('EEXIST', 'mkdir', below), () => 'EROFS') ?? '', /broken link.*\(EEXIST/);
});

test('leaves out errors that no system call caused', () => {
  assert.equal(systemErrorText(new TypeError('undefined is no function')), null);
  assert.equal(
    systemErrorText(failed('ENOENT', 'open', below), () => 'EROFS'),
    null,
  );
});

test('names a full table of processes where a program could not be started', () => {
  const full = systemErrorText(failed('EAGAIN', 'spawnSync /bin/claude', '/bin/claude'));
  assert.match(full ?? '', /^\/bin\/claude cannot be used: the system can start no further process/);
  assert.equal(systemErrorText(failed('EAGAIN', 'write', '/dev/stdout')), null);
});

test('names the file in whose place a folder or a link to itself is, not the draft of it', () => {
  const folder = Object.assign(failed('EISDIR', 'rename', '/x/counters.json.draft'), { dest: '/x/counters.json' });
  assert.match(
    systemErrorText(folder) ?? '',
    /^\/x\/counters\.json cannot be used: a folder exists where a file is needed/,
  );
  assert.match(
    systemErrorText(failed('EISDIR', 'unlink', '/x/turn.json')) ?? '',
    /^\/x\/turn\.json cannot be used: a folder/,
  );
  assert.match(
    systemErrorText(failed('ELOOP', 'open', '/x/turn.json')) ?? '',
    /^\/x\/turn\.json cannot be used: .*itself/,
  );
});

test('names the file that cannot be read, not the copy of it', () => {
  const copied = Object.assign(failed('EACCES', 'copyfile', '/x/task.md'), { dest: '/y/task.md' });
  assert.match(systemErrorText(copied) ?? '', /^\/x\/task\.md cannot be used: /);
});

test('names the file on a full disk, although the failing write knows only its descriptor', (t) => {
  if (!existsSync('/dev/full')) return t.skip('this system has no device that is always full');
  const state = join(emptyFolder(t), 'state.json');
  const thrownBy = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const write = (): number => withDescriptor('/dev/full', 'w', 0, (full) => writeSync(full, 'text'));
  assert.match(
    systemErrorText(thrownBy(write)) ?? '',
    /^\/dev\/full cannot be used: the disk is full \(ENOSPC, write\)/,
  );
  const unnamed = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
  const draft = `${state}.${uniqueToken()}.tmp`;
  const error = thrownBy(() => withDescriptor(draft, 'w', 0o600, () => thrown(unnamed)));
  assert.equal(
    systemErrorText(error)?.startsWith(`${state} cannot be used`),
    true,
    'the draft has the name of its file',
  );
  const own = thrownBy(() => withDescriptor(draft, 'w', 0o600, () => thrown(failed('EIO', 'read', '/x/task.md'))));
  assert.match(systemErrorText(own) ?? '', /^\/x\/task\.md /, 'control: another file keeps its name');
});

function thrown(error: Error): never {
  throw error;
}
