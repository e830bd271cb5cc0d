import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMemory } from '../../../src/drive/prompt/read-task.ts';
import { emptyFolder } from '../../support/folder.ts';

test("reads the agent's memory from a plain file only", (context) => {
  const folder = emptyFolder(context);
  const path = join(folder, 'RALPH_PROGRESS.md');
  const elsewhere = join(folder, 'elsewhere.md');
  writeFileSync(elsewhere, 'somebody else’s');
  const put: readonly [string, () => void, string | null][] = [
    ['nothing', () => undefined, null],
    ['a file', () => writeFileSync(path, 'the first module is done\n'), 'the first module is done\n'],
    ['an empty file', () => writeFileSync(path, ''), ''],
    ['a link to a file', () => symlinkSync(elsewhere, path), null],
    ['a link to nothing', () => symlinkSync(join(folder, 'gone'), path), null],
    ['a directory', () => mkdirSync(path), null],
    ['a file that is too long', () => writeFileSync(path, 'x'.repeat(4 * 1024 * 1024 + 1)), null],
  ];
  for (const [what, make, expected] of put) {
    rmSync(path, { recursive: true, force: true });
    make();
    assert.equal(readMemory(folder), expected, what);
  }
  assert.equal(readMemory(join(folder, 'gone')), null);
});
