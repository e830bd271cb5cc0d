import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { AGENT, TWO } from '../support/plan-place.ts';
import { project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const RUN = '$RALPH run PLAN.md --plan --plain --agent ./agent.sh';
const OFFER = /A plan is not executed on main\. Create the branch plan\/PLAN for it\? \[y\/N\]/;

test('a person on main is offered a branch for a plan, and the plan is executed there after a yes alone', async (t) => {
  const p = project(t);
  p.write('PLAN.md', TWO);
  p.write('agent.sh', AGENT, 0o755);
  const run = commitFolder(p.dir);
  const git = (...words: string[]): string => run(...words).trim();

  const no = await peopleTerminal(t, p, RUN);
  await no.waitFor(OFFER);
  no.send('\r');
  assert.equal(await no.waitForExit(), 1);
  assert.match(await no.history(), /Create a branch for it: git switch -c plan\/PLAN\./);
  assert.equal(git('branch', '--format=%(refname:short)'), 'main');

  const yes = await peopleTerminal(t, p, RUN);
  await yes.waitFor(OFFER);
  yes.send('y\r');
  assert.equal(await yes.waitForExit(), 0);
  assert.match(await yes.history(), /switched to the branch plan\/PLAN\./);
  assert.equal(git('log', '--format=%s', 'main..plan/PLAN'), 'feat: Task 2 - Make 2\nfeat: Task 1 - Make 1');
  assert.equal(git('log', '--format=%s', 'main'), 'first');

  git('switch', '-q', 'main');
  const again = await peopleTerminal(t, p, RUN);
  assert.equal(await again.waitForExit(), 1);
  assert.match(await again.history(), /this one already has a branch\. Switch to it: git switch plan\/PLAN\./);
});
