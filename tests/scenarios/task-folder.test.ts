import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { type Project, project } from '../support/project.ts';

const RALPH = `---
args: [owner]
commands:
  - { name: tests, run: "npm test -- --owner={{ args.owner }}", acceptance: true }
completion_promise: DONE
---
Fix it for {{ args.owner }}: {{ commands.tests }}
`;

/** A project whose tests fail before the work is done. */
function failing(t: TestContext): Project {
  const p = project(t);
  p.write('package.json', '{"scripts": {"test": "exit 1"}}');
  return p;
}

const start = (p: Project, ...args: string[]) => commandHere(p, ['start', '--json', ...args]);

test('a task folder is started by --task or --path, from any directory', async (context) => {
  const p = failing(context);
  await commandHere(p, ['init']);
  p.write('jobs/auth/RALPH.md', RALPH);
  const byTask = await start(p, '--task', 'jobs/auth', '--arg', 'owner=Ada');
  assert.equal(byTask.code, 0, byTask.stderr);
  const { name, taskPath, maxIterations, status } = byTask.json;
  assert.deepEqual(
    { name, taskPath, maxIterations, status },
    {
      ...{ name: 'auth', taskPath: 'jobs/auth/RALPH.md', maxIterations: 50, status: 'running' },
    },
  );
  assert.ok(p.has('.claude/context/runtime/ralph-state.auth.json'));
  assert.match(
    byTask.stderr,
    /^ralph-loop: Checks before the start: tests failed\.\nralph-loop: There will be no undo: .*\n$/,
  );

  p.write('more/auth/RALPH.md', RALPH);
  const env = { CLAUDE_PROJECT_DIR: p.dir };
  const beside = p.ralph(['start', '--json', '--path', './auth', '--arg', 'owner=Bob'], env, join(p.dir, 'more'));
  assert.equal(beside.code, 0, beside.stderr);
  assert.match(String(beside.json['name']), /^auth-[0-9a-f]{8}$/);
  assert.equal(beside.json['taskPath'], 'more/auth/RALPH.md');

  const named = await start(p, '--path', 'jobs/auth/RALPH.md', '--loop', 'mine', '--arg', 'owner=Cyd');
  assert.equal(named.json['name'], 'mine');
  const list = (await commandHere(p, ['list', '--json'])).json['loops'] as { name: string }[];
  assert.equal(list.length, 3);
});

test('every misuse of --arg is named and starts nothing', async (context) => {
  const p = project(context);
  await commandHere(p, ['init']);
  p.write('job/RALPH.md', RALPH);
  for (const [args, message] of [
    [['--arg', 'owner'], /--arg owner: write it as name=value/],
    [['--arg', '=x'], /"" is not a valid argument name/],
    [['--arg', 'a b=x'], /"a b" is not a valid argument name/],
    [['--arg', 'owner=a', '--arg', 'owner=b'], /--arg owner was given twice/],
    [['--arg', 'owner=a', '--arg', 'mood=b'], /--arg mood: the task file has no argument of this name/],
    [[], /the argument "owner" has no value/],
  ] as const) {
    const { code, stderr } = await start(p, '--task', 'job', ...args);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const prompt = await start(p, '--arg', 'owner=a');
  assert.match(
    prompt.stderr,
    /--arg owner: the task file has no argument of this name under "args:" \(it declares none\)/,
  );
  assert.match((await start(p, '--task', 'job', '--path', 'job')).stderr, /--path is another name for --task/);
  assert.match((await start(p, '--task', 'jobs')).stderr, /the task file jobs does not exist/);
  assert.equal(p.has('.claude/context/runtime/ralph-state.job.json'), false);
});

test('--arg for a missing task is refused before anything is created', (context) => {
  const p = project(context);
  for (const command of ['start', 'run']) {
    const { code, stderr } = p.ralph([command, '--arg', 'owner=a']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /--arg owner: \.claude\/ralph\/PROMPT\.md does not exist\. Name the task file or its folder: --task PATH/,
    );
  }
  for (const word of ['site', 'mend the login']) {
    const { code, stderr } = p.ralph(['run', word, '--arg', 'owner=a', '--yes']);
    assert.equal(code, 1);
    assert.match(stderr, /--arg sets an argument .* does not exist yet\. Declare the argument under "args:"/);
  }
  assert.deepEqual(p.tree(), {});
});

test('a resumed loop keeps its task and arguments unless new ones are given', async (context) => {
  const p = failing(context);
  await commandHere(p, ['init']);
  p.write('job/RALPH.md', RALPH);
  await start(p, '--task', 'job', '--arg', 'owner=Ada');
  const resumed = await start(p, '--resume', '--loop', 'job');
  assert.deepEqual([resumed.stderr, resumed.json['taskPath']], ['', 'job/RALPH.md']);
  assert.equal((await start(p, '--resume', '--task', 'job')).json['name'], 'job');
  assert.equal((await start(p, '--resume', '--task', 'job', '--arg', 'owner=Bob')).code, 0);
});

test('check accepts a task folder and shows every problem to people and in JSON', async (context) => {
  const p = project(context);
  p.write(
    'job/RALPH.md',
    '---\nmax_iterations: 99\ncommands:\n  - { name: t, run: x, timeout: 301 }\n---\n{{ args.a }}\n',
  );
  const { code, json } = await commandHere(p, ['check', 'job', '--json']);
  assert.equal(code, 1);
  assert.deepEqual([json['ok'], json['file'], json['kind']], [false, 'job/RALPH.md', 'ralph-md']);
  const problems = json['problems'] as { path: string; line: number; rule: string }[];
  assert.deepEqual(
    problems.map(({ path, line, rule }) => [path, line, rule]),
    [
      ['max_iterations', 2, 'range'],
      ['commands[0].timeout', 4, 'command-timeout'],
      ['', 6, 'placeholder'],
    ],
  );
  p.write('job/RALPH.md', RALPH);
  assert.equal((await commandHere(p, ['check', 'job'])).code, 0);
  const [gone, none] = [await commandHere(p, ['check', 'gone']), await commandHere(p, ['check'])];
  assert.match(gone.stderr, /gone does not exist\. Name a task .* ralph-loop scaffold NAME/);
  assert.match(none.stderr, /PROMPT\.md does not exist\. Create one to fill in: ralph-loop init\./);
});
