import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const STATE = '.claude/context/runtime/ralph-state.json';
/** The number of a process that never runs. */
const GONE = { sessionId: 'session-1', clientPid: 2 ** 22, clientStartedAt: null };
const PAUSED = {
  status: 'paused',
  paused: { since: '2026-02-28T10:00:00Z', reason: 'operator', message: 'paused by the user.', resumesAt: null },
};

function change(p: Project, state: object): void {
  p.write(STATE, { ...(JSON.parse(p.read(STATE)) as object), ...state });
}

function stateOf(p: Project): Record<string, unknown> {
  return JSON.parse(p.read(STATE)) as Record<string, unknown>;
}

function loop(context: Parameters<typeof project>[0], args: readonly string[], task = 'Work.\n'): Project {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', task);
  const { code, stderr } = p.ralph(args);
  assert.equal(code, 0, stderr);
  return p;
}

test('a loop that is paused in a live session resumes there', (context) => {
  const p = loop(context, ['start']);
  change(p, { ...PAUSED, sessionId: 'session-1', clientPid: process.pid, clientStartedAt: null, iteration: 2 });
  const { json, stderr } = p.ralph(['resume', '--json']);
  assert.deepEqual([json['status'], json['iteration']], ['running', 2], stderr);
  assert.equal(stateOf(p)['clientPid'], process.pid, 'the session keeps it');
  assert.match(p.ralph(['resume', '--launch']).stderr, /--launch is for a new run/);
});

for (const [how, state] of someOf(
  [
    ['was interrupted before any hook', { ...PAUSED, paused: { ...PAUSED.paused, reason: 'interrupted' } }],
    ['is running', GONE],
    ['is paused', { ...GONE, ...PAUSED }],
  ] as const,
  2,
)) {
  test(`a session's loop that ${how} and whose client is gone is prepared for a new client`, (context) => {
    const p = loop(context, ['start']);
    change(p, { ...state, iteration: 2 });
    const { code, json, stderr } = p.ralph(['resume', '--max-iterations', '9', '--json']);
    assert.equal(code, 0, stderr);
    assert.deepEqual([json['status'], json['mode'], json['maxIterations']], ['running', 'hook', 9]);
    const { sessionId, iteration } = stateOf(p);
    assert.deepEqual([sessionId, iteration], [null, 2]);
  });
}

/** A client that answers as one and notes its options. */
const CLIENT = '#!/bin/sh\necho "$@" >> args.txt\necho "2.1.330 (Claude Code)"\n';

test("a session's loop whose client is gone is launched again where its user is at a terminal", async (context) => {
  const p = loop(context, ['start']);
  change(p, { ...GONE, ...PAUSED, iteration: 2 });
  p.write('client.sh', CLIENT, 0o755);
  const shown = await peopleTerminal(context, p, '$RALPH resume', { RALPH_CLAUDE: join(p.dir, 'client.sh') });
  await shown.waitForExit();
  assert.match(p.read('args.txt'), /Iteration 3 of 25/, await shown.history());
});

test("a headless session's loop whose client is gone is launched again without a terminal", (context) => {
  const p = loop(context, ['start', '--headless', '--permission-mode', 'acceptEdits']);
  change(p, { ...GONE, ...PAUSED, iteration: 2 });
  p.write('client.sh', CLIENT, 0o755);
  const env = { RALPH_CLAUDE: join(p.dir, 'client.sh') };
  const { stderr } = p.ralph(['resume', '--permission-mode', 'acceptEdits'], env);
  assert.match(p.read('args.txt'), /^-p [\s\S]*Iteration 3 of 25/m, stderr);
});

const AGENT = '#!/bin/sh\ncat > prompt.txt\n[ -f done ] && echo "RALPH_AUDIT_COMPLETE_NO_FINDINGS"\necho one > done\n';

for (const [how, args] of someOf(
  [
    ['by no name', []],
    ['by its name', ['docs']],
  ] as const,
  2,
  1,
)) {
  test(`a runner's loop whose runner is gone continues in this terminal, ${how}`, (context) => {
    const p = project(context);
    p.write('PLAN/RALPH.md', '---\nmax_iterations: 3\ncompletion_gate: disabled\n---\nWork.\n');
    p.write('agent.sh', AGENT, 0o755);
    const start = ['start', '--mode', 'runner', '--loop', 'docs', '--task', 'PLAN', '--set', 'agent=./agent.sh'];
    const started = p.ralph(start);
    assert.equal(started.code, 0, started.stderr);
    const { code, stderr, stdout } = p.ralph(['resume', ...args, '--max-iterations', '1']);
    assert.equal(code, 2, stderr + stdout);
    assert.match(p.read('prompt.txt'), /Iteration 1 of 1/);
    const again = p.ralph(['resume', 'docs', '--max-iterations', '2', '--json']);
    assert.match(p.read('prompt.txt'), /Iteration 2 of 2/, again.stderr);
    assert.match(again.stdout, /"type":"run.ended"/);
    assert.match(p.ralph(['resume', 'docs', '--launch']).stderr, /--launch is not an option of ralph-loop run/);
  });
}

test("a router's loop whose session is gone continues as with router start --resume", (context) => {
  const p = loop(context, ['router', 'start']);
  change(p, { ...GONE, iteration: 1 });
  const { json, stderr } = p.ralph(['resume', '--json']);
  assert.deepEqual([json['action'], json['iteration']], ['spawn', 2], stderr);
  assert.equal(stateOf(p)['mode'], 'router');
});

test('a loop that awaits consent is not resumed in any mode', async (context) => {
  for (const mode of ['hook', 'runner']) {
    const p = project(context);
    p.write('.claude/ralph/PROMPT.md', 'Work.\n');
    await commandHere(p, ['start', '--mode', mode], { CLAUDECODE: '1' });
    p.ralph(['resume']);
    assert.equal(stateOf(p)['status'], 'awaiting-consent');
  }
});

test('resumes a loop that its user has stopped, and creates nothing if there is none', async (context) => {
  const p = loop(context, ['start', '--max-iterations', '1']);
  await commandHere(p, ['stop']);
  const { code, json, stderr } = p.ralph(['resume', '--json']);
  assert.deepEqual([code, json['status']], [0, 'running'], stderr);
  const empty = project(context);
  assert.match(empty.ralph(['resume']).stderr, /There is no live or incomplete loop to resume/);
  assert.deepEqual(empty.tree(), {});
});

test('resume .ralph/NAME goes on in the worktree in which its loop works', (context) => {
  const p = project(context);
  p.write('.ralph/job/task.md', '---\nmax_iterations: 1\n---\nWork.\n');
  commitFolder(p.dir, 'work', 'Begin');
  const agent = 'cat >> prompts.txt';
  assert.equal(p.ralph(['run', 'job', '--worktree', '--agent', agent]).code, 2);
  const { stderr } = p.ralph(['resume', '.ralph/job', '--agent', agent, '--max-iterations', '2']);
  assert.equal(p.read('.ralph/worktrees/job/prompts.txt').match(/^Work\.$/gm)?.length, 2, stderr);
  assert.equal(p.has(STATE.replace('state', 'state.job')), false, 'no second loop in the project');
});

test('resume PATH runs a task again in the mode in which its last loop ran', (context) => {
  const p = project(context);
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  const agent = 'cat >> prompts.txt';
  assert.equal(p.ralph(['run', '--path', 'job', '--agent', agent]).code, 2);
  const { stderr } = p.ralph(['resume', 'job', '--max-iterations', '2']);
  assert.match(p.read('prompts.txt'), /Iteration 2 of 2/, `its name resumes it with its agent: ${stderr}`);
  p.ralph(['resume', './job', '--agent', agent]);
  assert.equal(p.read('prompts.txt').match(/^Work\.$/gm)?.length, 3);
  const archived = p.tree();
  assert.equal(
    Object.keys(archived).some((path) => /ralph-state/.test(path)),
    false,
    'no loop without a driver is left',
  );
});

test('a resumed run keeps the permission mode with which it was started, unless another is given', (context) => {
  const p = project(context);
  p.write('job/RALPH.md', '---\nvalidation: ["false"]\nmax_iterations: 1\n---\nWork.\n');
  p.write('client.sh', '#!/bin/sh\necho "$@" >> args.txt\necho "2.1.330 (Claude Code)"\n', 0o755);
  const env = { RALPH_CLAUDE: join(p.dir, 'client.sh'), RALPH_RETRY_WAIT: '10ms' };
  const modes = (): string[] =>
    [...p.read('args.txt').matchAll(/--permission-mode (\w+)/g)].map(([, mode]) => mode ?? '');
  p.ralph(['run', 'job', '--permission-mode', 'acceptEdits'], env);
  const first = modes().length;
  assert.deepEqual([...new Set(modes())], ['acceptEdits']);
  p.ralph(['run', '--resume', 'job', '--max-iterations', '2'], env);
  const second = modes().slice(first);
  assert.deepEqual([...new Set(second)], ['acceptEdits']);
  p.ralph(['run', '--resume', 'job', '--max-iterations', '3', '--permission-mode', 'auto'], env);
  assert.deepEqual([...new Set(modes().slice(first + second.length))], ['auto']);
});
