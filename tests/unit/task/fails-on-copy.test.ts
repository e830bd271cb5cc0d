import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failsOnCopy, mayPassElsewhere } from '../../../src/task/commands/gate.ts';

const failed = (output: string) => ({
  name: 'npm test',
  outcome: 'failed' as const,
  detail: `exit code 1.\n${output}`,
});

test('names the ignored file that the output of a check on a commit mentions', () => {
  const lacks = ['gen', '.env', 'dist', '.claude/context'];
  const detail = (output: string): string => failsOnCopy(failed(output), lacks, true).detail.split('\n')[0] ?? '';
  const begin = 'passes in the project, fails on the commit, which lacks ';
  assert.ok(detail("Cannot find module '/tmp/copy/gen/out.js'").startsWith(`${begin}ignored files: gen/out.js. `));
  assert.ok(detail('open .env: no such file').startsWith(`${begin}ignored files: .env. `));
  const all = `${begin}all changes outside the task and the ignored gen, .env, dist. `;
  for (const output of ['1 test fails', 'agents generate.js', 'my.env', 'distance']) {
    assert.ok(detail(output).startsWith(all), detail(output));
  }
});

test('without ignored files, what stays outside the commit is the cause', () => {
  const { detail, outcome } = failsOnCopy(failed(''), ['.ralph/worktrees'], true);
  assert.equal(outcome, 'failed');
  assert.match(detail, /^passes in the project, fails on the commit, which lacks all changes outside the task\. /);
  assert.match(failsOnCopy(failed(''), [], false).detail, /^passes in the project, fails on the clean copy, /);
});

test('a check that could not run at all is not tried elsewhere', () => {
  const outcomes = (['ok', 'failed', 'timeout', 'vacuous', 'changed', 'unavailable'] as const).filter((outcome) =>
    mayPassElsewhere({ name: 'x', outcome, detail: '' }),
  );
  assert.deepEqual(outcomes, ['failed', 'timeout', 'vacuous']);
});
