import assert from 'node:assert/strict';
import { test } from 'node:test';
import { someOf } from '../support/short-form.ts';
import { repository } from './support/in-worktree.ts';
import { git } from './support/side-by-side.ts';

const LEFT: readonly (readonly [string, string, RegExp | null])[] = [
  [
    'another branch',
    'git checkout -qb own',
    /the agent left the branch main: the project is on the branch own; the checks ran there/,
  ],
  [
    'no branch',
    'git checkout -q --detach',
    /the agent left the branch main: the project is on no branch, at [0-9a-f]{12}; the checks ran/,
  ],
  ['the branch of the start (control)', 'git checkout -qb own; git checkout -q main', null],
];

for (const [where, work, says] of someOf(LEFT, 2)) {
  test(`a claim on ${where} is judged on what is checked out, and the report says so`, (t) => {
    const p = repository(t);
    p.write(
      'jobs/fix/RALPH.md',
      `${p.read('jobs/fix/RALPH.md')}`.replace('---\n', '---\nvalidation: [test -s made]\n'),
    );
    p.write('do.sh', `${work}; echo 1 > made; git add made; git commit -qm made; echo "<promise>DONE</promise>"\n`);
    git(p, 'add -A');
    git(p, 'commit -qm check');
    const { code, stdout, stderr } = p.ralph(['run', 'jobs/fix', '--agent', './agent.sh']);
    assert.equal(code, 0, stdout + stderr);
    if (says === null) assert.doesNotMatch(stdout + stderr, /left the branch/);
    else assert.match((stdout + stderr).replace(/\s+/g, ' '), says);
  });
}
