import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const PLAN = '# Plan\n\n- [ ] **Task 1: Make it**\n  - Scope: `work`\n  - Acceptance: it is there\n';
const AGENT = '#!/bin/sh\nmkdir -p work; echo x >> work/a.txt\necho "Summary: made it."\n';

for (const [answer, isWritten] of [
  ['y', true],
  ['n', false],
] as const) {
  test(`a plan without checks is offered the project's; ${answer} ${isWritten ? 'adds them' : 'leaves it'}`, async (t) => {
    const p = project(t);
    p.write('PLAN.md', PLAN);
    p.write('agent.sh', AGENT, 0o755);
    p.write('package.json', '{"name": "a", "scripts": {"test": "node --test"}}\n');
    p.write('a.test.js', "require('node:test').test('a', () => {});\n");
    commitFolder(p.dir, 'work');
    const shown = await peopleTerminal(t, p, '$RALPH run PLAN.md --plan --plain --agent ./agent.sh');
    const screen = await shown.waitFor(/Add them to the plan/);
    assert.match(screen, /This plan has no validation commands\. The project has:\s+npm test/);
    await shown.submit(answer);
    await shown.waitFor(isWritten ? /Added them under/ : /The loop is working on|No checks/);
    assert.equal(/^validation:\n *- .*npm test/m.test(p.read('PLAN.md')), isWritten, p.read('PLAN.md'));
    await shown.close();
  });
}

test("the project's checks are offered once, also where a permission mode is proposed", async (t) => {
  const p = project(t);
  p.write('PLAN.md', PLAN);
  p.write('client.sh', '#!/bin/sh\necho "2.1.330 (Claude Code)"\n', 0o755);
  p.write('package.json', '{"name": "a", "scripts": {"test": "node --test"}}\n');
  p.write('a.test.js', "require('node:test').test('a', () => {});\n");
  commitFolder(p.dir, 'work');
  const env = { RALPH_CLAUDE: join(p.dir, 'client.sh') };
  const shown = await peopleTerminal(t, p, '$RALPH run PLAN.md --plan', env);
  await shown.waitFor(/Add them to the plan/);
  await shown.submit('n');
  const screen = await shown.waitFor(/\[Enter\] start|Add them to the plan[\s\S]*Add them to the plan/);
  assert.match(screen, /\[Enter\] start/, 'the start is shown next');
  await shown.key('Escape');
  await shown.close();
});
