import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { initRepository } from '../support/git.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const PLAN = `---
validation: [npm test]
---
# Plan

- [x] **Task 1: Schema**
- [ ] **Task 2: Service**
  - Scope: \`src\`
  - Depends on: Task 1
  - Acceptance: it works
- [ ] (blocked) **Task 3: Payment**
  - Scope: \`pay\`
  - Acceptance: it pays
`;

const HIDDEN = 'validation[0] runs the script "test", which exits with 0 whatever fails: remove "|| true".';

test('plan check prints as JSON the tasks, the problems and what comes next', async (t) => {
  const p = project(t);
  p.write('plan.md', PLAN);
  p.write('package.json', { scripts: { test: 'tsc || true' } });
  const { code, json } = await commandHere(p, ['plan', 'check', 'plan.md', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(json, {
    ok: true,
    tasks: [
      { id: 'Task 1', title: 'Schema', status: 'done', dependsOn: [], scope: [], line: 6 },
      { id: 'Task 2', title: 'Service', status: 'open', dependsOn: ['Task 1'], scope: ['src'], line: 7 },
      { id: 'Task 3', title: 'Payment', status: 'blocked', dependsOn: [], scope: ['pay'], line: 11 },
    ],
    problems: [{ line: 2, taskId: null, rule: 'hidden-exit', message: HIDDEN, severity: 'warning' }],
    next: 'Task 2',
    stop: null,
  });
});

test('plan check reports every problem of a plan and exits with 1', async (t) => {
  const p = project(t);
  p.write('plan.md', '- [ ] **Task 1: a**\n  - Depends on: Task 9\n');
  const { code, json } = await commandHere(p, ['plan', 'check', 'plan.md', '--json']);
  assert.equal(code, 1);
  const problems = json['problems'] as { line: number; rule: string }[];
  assert.deepEqual(
    problems.map(({ line, rule }) => [line, rule]),
    [
      [1, 'no-validation'],
      [1, 'unknown-dependency'],
      [1, 'missing-acceptance'],
      [1, 'missing-scope'],
    ],
  );
});

test('status of a plan says how many tasks are done, and which is next', async (t) => {
  const p = project(t);
  p.write('plan.md', PLAN);
  const { code, json } = await commandHere(p, ['status', 'plan.md', '--json']);
  assert.equal(code, 0);
  const { tasks, ...rest } = json;
  assert.deepEqual(rest, { plan: 'plan.md', done: 1, total: 3, next: { id: 'Task 2', title: 'Service' }, stop: null });
  assert.equal((tasks as unknown[]).length, 3);
});

for (const args of someOf([['plan'], ['plan', 'check'], ['plan', 'tick', 'plan.md'], ['plan', 'check', 'a', 'b']], 2)) {
  test(`"${args.join(' ')}" names the right spelling`, (t) => {
    const { code, stderr } = project(t).ralph(args);
    assert.equal(code, 1);
    assert.match(stderr, /plan check FILE/);
  });
}

test('list and check distinguish a plan from a prompt', async (t) => {
  const p = project(t);
  p.write('plan.md', PLAN);
  assert.match((await commandHere(p, ['check', 'plan.md', '--json'])).stdout, /"rule": "plan-as-prompt"/);
  initRepository(p.dir, 'work')('commit', '-qm', 'first', '--allow-empty');
  assert.equal(
    (await commandHere(p, ['start', '--task', 'plan.md', '--plan', '--loop', 'p', '--no-baseline'])).code,
    0,
  );
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.equal((await commandHere(p, ['start'])).code, 0);
  const { loops } = (await commandHere(p, ['list', '--json'])).json as {
    loops: { name: string | null; kind: string }[];
  };
  assert.deepEqual(
    loops.map(({ name, kind }) => [name, kind]),
    [
      [null, 'prompt'],
      ['p', 'plan'],
    ],
  );
});

test('plan check reports the frontmatter that run would refuse, beside problems of the tasks', async (t) => {
  const p = project(t);
  p.write('plan.md', '---\nmax_tasks: 0\n---\n- [ ] **Task 1: a**\n  - Scope: `src`\n');
  const { code, json } = await commandHere(p, ['plan', 'check', 'plan.md', '--json']);
  assert.equal(code, 1);
  const problems = json['problems'] as { line: number; taskId: string | null; rule: string }[];
  assert.deepEqual(
    problems.map(({ line, taskId }) => [line, taskId]),
    [
      [2, null],
      [4, 'Task 1'],
    ],
  );
});

test('no message of plan check ends with two full stops', async (t) => {
  const p = project(t);
  for (const [text, told] of [
    ['---\nmax_tasks: 0\nvalidation: [""]\n---\n- [ ] **Task 1: Show the usage.**\n  - Depends on: 9.\n', /max_tasks/],
    ['---\nvalidation: [a\n---\n- [ ] **Task 1: a**\n  - Scope: `src`.\n', /sequence/],
    ['- [ ] Fix the text of usage.\n- [ ] Test it.\n', /checklist/],
  ] as const) {
    p.write('plan.md', text);
    for (const form of [[], ['--json']]) {
      const { stdout, stderr } = await commandHere(p, ['plan', 'check', 'plan.md', ...form]);
      assert.match(stdout + stderr, told);
      assert.doesNotMatch(stdout + stderr, /(?<!\.)\.\.(?!\.)/);
    }
  }
});

test('plan check never calls a file without tasks a plan or complete', async (t) => {
  const p = project(t);
  p.write('plan.md', '# Notes\n');
  const { code, json } = await commandHere(p, ['plan', 'check', 'plan.md', '--json']);
  assert.deepEqual([code, json['ok'], json['next'], json['stop']], [1, false, null, null]);
});
