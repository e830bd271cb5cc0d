import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { takeHold } from '../../../src/state/lock/hold.ts';
import { emptyFolder } from '../../support/folder.ts';

test('Taking a hold removes the drafts of killed processes, and no lock.', (t) => {
  const folder = emptyFolder(t);
  const others = [
    'loop-1.holder.lock.zzzzz-1-abcdefghi.tmp',
    'loop-1~2.holder.zzzzz-1-abcdefghi.tmp',
    'loop-1.holder.json',
  ];
  for (const name of [...others, 'loop-1.holder.zzzzz-1-abcdefghi.tmp']) writeFileSync(join(folder, name), '');
  const hold = takeHold(join(folder, 'loop-1.holder'));
  assert.deepEqual(readdirSync(folder).sort(), [...others, 'loop-1.holder', 'loop-1.holder.lease'].sort());
  assert.equal(takeHold(join(folder, 'loop-1.holder')), null);
  hold?.release();
  assert.deepEqual(readdirSync(folder).sort(), others.sort());
});

test('A torn holder file delays no one; control: a holder of another machine does with a fresh lease.', (t) => {
  const path = join(emptyFolder(t), 'loop-1.holder');
  const leave = (text: string): void => {
    writeFileSync(path, text);
    mkdirSync(`${path}.lease`, { recursive: true });
  };
  leave(JSON.stringify({ pid: 1, startedAt: null, token: 'other', host: 'elsewhere' }));
  assert.equal(takeHold(path), null);
  leave('{"pid":');
  const hold = takeHold(path);
  assert.ok(hold !== null);
  hold.release();
});
