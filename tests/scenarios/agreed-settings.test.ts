import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { agent, runs, task } from './support/command-agent.ts';

const RUN = ['run', '--plain'];

test('a program that a configuration file starts needs the user’s consent once, and again when it changes', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const cmd = agent(p, 'echo fine');
  p.write('.ralph/config.json', { agent: cmd });
  const refused = unattended(p, RUN);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /have not agreed to: agent: \.\/agent\.sh {2}\(run config\)\. Pass it with --set KEY=VALUE/,
  );
  assert.match(unattended(p, [...RUN, '--yes']).stderr, /have not agreed to/);
  assert.equal(inPerson(p, RUN, 'no').code, 1);
  assert.equal(runs(p), 0);
  const agreed = inPerson(p, RUN);
  assert.equal(agreed.code, 2, agreed.stderr + agreed.screen);
  assert.match(agreed.screen, /start programs or widen permissions:\n {2}agent: \.\/agent\.sh {2}\(run config\)\n/);
  assert.equal(p.ralph(RUN).code, 2, 'not asked again');
  p.write('.ralph/config.json', { agent: `${cmd} --more` });
  assert.match(unattended(p, RUN).stderr, /agent: \.\/agent\.sh --more/);
  assert.equal(p.ralph([...RUN, '--agent', cmd]).code, 2, 'control: an option is the user’s own word');
  assert.equal(runs(p), 3);
});

test("a mode that widens permissions is shown, also from the user's configuration", (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const cmd = agent(p, 'echo fine');
  const path = '../config/ralph-loop/config.json';
  p.write(path, { permission_mode: 'acceptEdits' });
  assert.equal(p.ralph([...RUN, '--agent', cmd]).code, 2, 'control: a mode that widens nothing');
  p.write(path, { permission_mode: 'bypassPermissions', notify: { command: ['touch', 'pwned'] } });
  const { stderr } = unattended(p, [...RUN, '--agent', cmd]);
  assert.match(
    stderr,
    /permission_mode: bypassPermissions {2}\(user config\); notify\.command: \["touch","pwned"\] {2}\(user config\)/,
  );
  assert.equal(p.has('pwned'), false);
});

test('a task file that lifts limits or starts programs outside a sandbox needs consent', (t) => {
  const p = project(t);
  const cmd = agent(p, 'echo fine');
  const run = [...RUN, '--agent', cmd];
  task(p, 'max_iterations: 1\nvalidation: ["true"]\nagent: other\npermission_mode: acceptEdits');
  assert.equal(
    p.ralph(run).code,
    2,
    'control: its checks, an agent that the option replaces, a mode that widens nothing',
  );
  const WIDER = {
    permission_mode: 'permission_mode: bypassPermissions',
    'notify.command': 'notify: {command: [touch, pwned]}',
    isolation: 'isolation: client',
    'sandbox.network': 'sandbox: {network: true}',
    'sandbox.allow_write': 'sandbox: {allow_write: [/var]}',
    'sandbox.mode': 'sandbox: {mode: "off"}',
    'notify.url': 'notify: {url: "https://example.org/hook"}',
    worktree_setup: 'worktree_setup: touch pwned',
  };
  for (const [key, lines] of someOf(Object.entries(WIDER), 3)) {
    task(p, `max_iterations: 1\n${lines}`);
    const { code, stderr } = unattended(p, run);
    assert.equal(code, 1, key);
    assert.match(stderr, new RegExp(`have not agreed to: ${key}: .* {2}\\(task file\\)`));
  }
  assert.equal(runs(p), 1);
  assert.equal(p.has('pwned'), false);
  task(p, `max_iterations: 1\nagent: ${cmd}`);
  assert.match(unattended(p, RUN).stderr, /have not agreed to: agent: \.\/agent\.sh {2}\(task file\)/);
  assert.equal(runs(p), 1);
  task(p, 'max_iterations: 1\nisolation: client');
  const agreed = inPerson(p, run);
  assert.match(agreed.screen, /These settings start programs or widen permissions:\n {2}isolation: client/);
  assert.equal(p.ralph(run).code, 2, 'not asked again');
  assert.equal(runs(p), 3);
});

test('the set-up of clean copies and worktrees in a task file needs consent in every driver', (t) => {
  const p = project(t);
  const cmd = agent(p, 'echo fine');
  commitFolder(p.dir);
  const keys = 'max_iterations: 1\nverify_in: worktree\nvalidation: ["true"]';
  const setUp = `touch '${join(p.dir, '..', 'pwned')}'`;
  const starts = [[...RUN, '--agent', cmd], ['start'], ['router', 'start']];
  task(p, `${keys}\nworktree_setup: ${setUp}`);
  for (const words of starts) {
    const { code, stderr } = unattended(p, words);
    assert.match(stderr, /have not agreed to: worktree_setup: touch .* {2}\(task file\)/, words.join(' '));
    assert.equal(code, 1);
  }
  assert.equal(p.has('../pwned'), false);
  assert.equal(runs(p), 0);
  task(p, keys);
  const given = unattended(p, [...RUN, '--agent', cmd, '--worktree-setup', setUp]);
  assert.equal(given.code, 2, `control: an option is the user's own word. ${given.stderr}`);
  assert.equal(p.has('../pwned'), true);
  task(p, 'max_iterations: 1');
  const idle = unattended(p, [...RUN, '--fresh', '--agent', cmd, '--worktree-setup', setUp]);
  assert.match(idle.stderr, /--worktree-setup is for a new worktree or copy, and this loop has none/);
});

const REFUSALS = [
  ['a no', 'n', 1, /Nothing was started: only the word yes agrees to these settings\./],
  ['the end of the input', 'C-d', 1, /Type yes to agree:\nralph-loop: Nothing was started/],
  ['Ctrl+C', 'C-c', 130, /Type yes to agree: \^C/],
] as const;

for (const [how, key, code, said] of someOf(REFUSALS, 2)) {
  test(`${how} at the question about settings ends the command at once, and starts nothing`, async (t) => {
    const p = project(t);
    p.write('.claude/ralph/PROMPT.md', '---\nnotify: {command: [touch, pwned]}\n---\nDo it.\n');
    const shown = await peopleTerminal(t, p, 'trap : INT; $RALPH run --agent "touch ran"; echo left $?');
    await shown.waitFor(/Type yes to agree:/);
    await shown.key(...(key === 'n' ? ['n', 'Enter'] : [key]));
    assert.match(await shown.waitFor(`left ${code}`), said);
    assert.ok(!p.has('ran'));
  });
}
