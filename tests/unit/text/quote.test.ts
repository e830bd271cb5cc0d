import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { planStopText } from '../../../src/engine/plan/messages.ts';
import { render } from '../../../src/text/message.ts';
import { quoted } from '../../../src/text/quote.ts';

const NAMES = ['plan.md', 'my plan.md', 'a "b" c', "it's $HOME!", 'a`b`', 'back\\slash', 'né w', '*'];

for (const name of NAMES) {
  test(`a shell reads back what is quoted for it: ${name}`, () => {
    assert.equal(execFileSync('sh', ['-c', `printf %s ${quoted(name)}`], { encoding: 'utf8' }), name);
  });
}

test('the command that continues a plan can be pasted into a shell as shown', () => {
  const next = { id: 'Task "x"', title: 'X', status: 'open', dependsOn: [], scope: [], line: 1 } as const;
  const choice = { next, stop: null, passed: [] };
  const plan = { current: null, attempts: 0, done: ['Task 1'], blocked: [], report: null };
  const loop = { name: null, mode: 'runner' } as const;
  const shown = (path: string): string =>
    render(planStopText({ as: 'paused-for-review', why: 'max-tasks', choice }, plan, [], path), loop);
  assert.match(shown('my plan.md'), /ralph-loop run --task "my plan\.md" --plan --from 'Task "x"'\.$/);
  assert.match(shown('-p.md'), /ralph-loop run --task \.\/-p\.md --plan/);
  const blocked = planStopText({ as: 'blocked', became: ['Task 1'], choice }, plan, [], 'PLAN.md');
  assert.match(render(blocked, loop), /Resume: ralph-loop resume\.$/);
});
