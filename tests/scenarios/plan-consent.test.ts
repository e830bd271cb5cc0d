import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type PlanProject, planProject, planText } from '../support/plan-beside.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const SIGNS = "cat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\necho -----BEGIN PGP SIGNATURE-----";

/** A plan with a setting that its user has to agree to, in a repository whose programs note that they ran. */
function notingProject(t: TestContext): PlanProject & { readonly ran: () => readonly string[] } {
  const plan = planText([{ id: 1 }]).replace('---\n', '---\nnotify: {command: ["true"]}\n');
  const p = planProject(t, plan, 'mkdir -p work/$id; echo $id > work/$id/made\n');
  const log = join(p.dir, '..', 'notes', 'ran');
  const program = (path: string, text: string): void =>
    writeFileSync(join(p.dir, '.git', path), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('hooks/commit-msg', `echo commit-msg >> "${log}"`);
  program('hooks/post-checkout', `echo post-checkout >> "${log}"`);
  program('signer', `echo signer >> "${log}"\n${SIGNS}`);
  p.git('config commit.gpgsign true');
  p.git(`config gpg.program "${join(p.dir, '.git', 'signer')}"`);
  p.write('../notes/ran', '');
  return { ...p, ran: () => p.read('../notes/ran').split('\n').filter(Boolean) };
}

const STARTS = [
  ['run --plan', ['run', 'PLAN.md', '--plan', '--agent', './agent.sh']],
  ['run --plan --parallel', ['run', 'PLAN.md', '--plan', '--parallel', '2', '--agent', './agent.sh']],
  ['start --plan', ['start', '--task', 'PLAN.md', '--plan']],
  ['router start --plan', ['router', 'start', '--task', 'PLAN.md', '--plan']],
] as const;

for (const [name, words] of someOf(STARTS, 2)) {
  test(`${name} runs nothing of the repository before its user agrees`, (t) => {
    const p = notingProject(t);
    const declined = inPerson(p, words, 'no', p.env);
    assert.equal(declined.code, 1, declined.stderr);
    assert.match(declined.screen, /notify\.command/);
    assert.deepEqual(p.ran(), [], 'declined');

    const agreed = inPerson(p, words, 'yes', p.env);
    assert.equal(agreed.code, 0, agreed.stderr);
    assert.deepEqual([...new Set(p.ran())].sort().slice(0, 1), ['commit-msg'], 'control: agreed');
    assert.ok(p.ran().includes('signer'), 'control: agreed');
  });
}

test('a branch that a plan is offered runs no hook of the repository', async (t) => {
  const p = notingProject(t);
  p.git('branch -m main');
  const start = await peopleTerminal(
    t,
    p,
    '$RALPH run PLAN.md --plan --plain --agent ./agent.sh',
    p.env as Record<string, string>,
  );
  await start.waitFor(/Create the branch plan\/PLAN for it\?/);
  start.send('y\r');
  await start.waitFor(/Use these settings from now on\?/);
  start.send('no\r');
  assert.equal(await start.waitForExit(), 1);
  assert.equal(p.git('branch --show-current'), 'plan/PLAN');
  assert.deepEqual(p.ran(), []);
  p.git('switch -q main');
  assert.deepEqual(p.ran(), ['post-checkout'], 'control: a switch by hand');
});
