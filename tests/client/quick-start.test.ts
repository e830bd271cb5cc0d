import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyFolder } from '../support/folder.ts';
import { TEST_TIMEOUT_MS } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');

test('the quick start shows failing tests, a rejected and a verified completion, and passing tests', (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'tests/tools/quick-start.ts'], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: emptyFolder(t), TMPDIR: emptyFolder(t) },
    encoding: 'utf8',
    timeout: TEST_TIMEOUT_MS,
  });
  assert.equal(status, 0, stdout + stderr);
  const parts = [
    /Its tests before:\n\S+ pass 2\n\S+ fail 2\n/,
    /─── Iteration 1 of 25 ───\n/,
    /Completion rejected: npm test\.\n {2}npm test: 1 of 4 tests fails: a taken slug /,
    /─── Iteration 2 of 25 ───\n/,
    /Complete after 2 iterations, verified by 2 checks\. npm test failed before the start and passes now\.\n {2}Passed: npm test, unchanged\n/,
    /Its tests after, and what has changed:\n\S+ pass 4\n\S+ fail 0\n src\/slug\.js /,
    /\n {2}ralph-loop run "make the failing tests pass"\n/,
  ];
  const found = parts.map((part) => stdout.search(part));
  assert.deepEqual(
    found,
    [...found].filter((at) => at >= 0).sort((a, b) => a - b),
    `in this order:\n${stdout}`,
  );
});
