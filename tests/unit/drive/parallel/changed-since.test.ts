import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { changedSince } from '../../../../src/drive/parallel/plan-source.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

test('of what a branch has otherwise, only what checks rest on and what is to stay counts', (t) => {
  const names = ['check.sh', 'other.sh', 'tests/a.test.ts', 'src/a.ts'];
  const dir = repository(t, Object.fromEntries(names.map((name) => [name, 'before\n'])));
  const commit = git(dir, 'rev-parse', 'HEAD').trim();
  const rests = { commit, files: ['check.sh', 'absent.cfg'], patterns: ['tests/**'] };
  const changed = (): readonly string[] => changedSince(dir, rests, ENV);
  const commitAs = (names: readonly string[]): void => {
    for (const name of names) writeFileSync(join(dir, name), 'after\n');
    git(dir, 'add', '.');
    git(dir, 'commit', '-qm', 'Next');
  };
  commitAs(['other.sh', 'src/a.ts']);
  assert.deepEqual(changed(), []);
  commitAs(['check.sh', 'absent.cfg', 'tests/a.test.ts']);
  assert.deepEqual(changed(), ['absent.cfg', 'check.sh', 'tests/a.test.ts']);
});
