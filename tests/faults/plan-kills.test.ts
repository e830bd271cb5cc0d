import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PlanPlace, planPlace } from '../support/plan-place.ts';

const PLAN = `# Plan

- [ ] **Task 1: First**
  - Scope: \`work\`
  - Acceptance: it is there
- [ ] **Task 2: Second**
  - Scope: \`work\`
  - Depends on: Task 1
  - Acceptance: it is there
- [ ] **Task 3: Third**
  - Scope: \`work\`
  - Depends on: Task 2
  - Acceptance: it is there
`;
function assertOnceEach({ dir, git }: PlanPlace): void {
  const subjects = git('log', '--reverse', '--format=%s').trim().split('\n');
  assert.deepEqual(subjects, ['Begin', 'feat: Task 1 - First', 'feat: Task 2 - Second', 'feat: Task 3 - Third']);
  const progress = readFileSync(join(dir, 'PLAN.progress.md'), 'utf8');
  for (const id of [1, 2, 3]) assert.equal(progress.split(`## Task ${id}: `).length, 2, `one entry of Task ${id}`);
  assert.equal(git('status', '--porcelain').replace(/^\?\? \.claude\/\n/m, ''), '');
}

const ALL = ['before status', 'before add', 'after add', 'before commit', 'after commit', 'before rev-parse'];
const MOMENTS = process.env['RALPH_STRESS_KILLS'] ? ALL : ['before add', 'before commit', 'after commit'];

for (const moment of MOMENTS) {
  test(`a runner killed ${moment} of a task leaves no second commit and no second entry`, (t) => {
    const p = planPlace(t, PLAN);
    assert.equal(p.run(moment).code, null, 'it was killed');
    assert.equal(p.run(null, '--resume').code, 0);
    assertOnceEach(p);
  });
}

test('control: without the record of what was begun, the entry of a killed task appears twice', (t) => {
  const p = planPlace(t, PLAN);
  assert.equal(p.run('before commit').code, null);
  const outside = join(p.state, 'ralph-loop');
  const notes = readdirSync(outside)
    .map((name) => join(outside, name, 'settling.json'))
    .filter((path) => existsSync(path));
  assert.equal(notes.length, 1);
  for (const path of notes) rmSync(path);
  p.run(null, '--resume');
  assert.throws(() => assertOnceEach(p));
});
