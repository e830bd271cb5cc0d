import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { DIST, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const hook = (name: string): string => `node '${join(DIST, 'hooks', `${name}-execute.cjs`)}'`;

test('pre-execute takes its input as argument, file and standard input, whether a loop may run or not', (t) => {
  const { sh, write } = project(t);
  const good = '{"maxIterations": 5, "completionSignal": "DONE"}';
  const bad = '{"maxIterations": 500, "completionSignal": ""}';
  write('good.json', good);
  write('bad.json', bad);
  for (const [nth, env] of [{}, { RALPH_ACTIVE: '1' }].entries()) {
    const taken = [
      [`'${good}'`, ''],
      ['good.json', ''],
      ['', good],
      ['-', good],
    ] as const;
    for (const [arguments_, input] of someOf(taken, 2, nth)) {
      assert.deepEqual(
        (({ code, stdout, stderr }) => ({ code, stdout, stderr }))(sh(`${hook('pre')} ${arguments_}`, input, env)),
        { code: 0, stdout: '', stderr: '' },
        arguments_,
      );
    }
    const refused = [
      [`'${bad}'`, ''],
      ['bad.json', ''],
      ['', bad],
    ] as const;
    for (const [arguments_, input] of someOf(refused, 2, nth)) {
      const { code, stderr } = sh(`${hook('pre')} ${arguments_}`, input, env);
      assert.equal(code, 2, arguments_);
      assert.match(stderr, /maxIterations must be a whole number from 1 to 100, but is 500/);
      assert.match(stderr, /completionSignal must be a text that is not empty, but is ""/);
    }
  }
  assert.match(sh(`${hook('pre')} none.json`).stderr, /the input cannot be read: .*none\.json/);
  assert.match(sh(`${hook('pre')}`, '{"maxIteration": 5}').stderr, /which do nothing: maxIteration$/m);
});

test('post-execute takes what the commands of the contract really answer, and refuses another text', (t) => {
  const { ralph, sh, write } = project(t);
  const blockingRule = (stdout: string): number | null => sh(hook('post'), stdout).code;
  write('.claude/ralph/PROMPT.md', 'Do the work.\n');
  for (const command of [['status'], ['config'], ['reset'], ['start'], ['status'], ['reset']]) {
    const { stdout, stderr, code } = ralph([...command, '--json']);
    assert.equal(code, 0, stderr);
    if (command[0] === 'start') continue; // what begins a loop answers with the loop
    assert.equal(blockingRule(stdout), 0, `${command}: ${stdout}${sh(hook('post'), stdout).stderr}`);
  }
  assert.equal(blockingRule(ralph(['router', 'next']).stdout), 0);
  assert.equal(blockingRule(ralph(['router', 'start']).stdout), 0);
  assert.equal(blockingRule(ralph(['router', 'status']).stdout), 0);
  write('PLAN.md', '- [ ] **Task 1: One**\n  - Acceptance: it is there\n');
  assert.equal(blockingRule(ralph(['status', 'PLAN.md', '--json']).stdout), 0);
  assert.equal(blockingRule('All done.'), 2);
  assert.equal(blockingRule('{"active": true}'), 2);
});

test('start takes its input from a file, options override it, and an invalid one starts nothing', (t) => {
  const { ralph, write, has } = project(t);
  write('.claude/ralph/PROMPT.md', 'Do the work.\n');
  write('wrong.json', { maxIterations: 0, completionSignal: ' ', loop: 'a b' });
  const wrong = ralph(['start', '--input', 'wrong.json']);
  assert.equal(wrong.code, 1);
  for (const name of ['maxIterations', 'completionSignal', 'loop']) assert.match(wrong.stderr, new RegExp(name));
  assert.equal(has('.claude/context/runtime/ralph-state.json'), false);

  write('input.json', { maxIterations: 7, completionSignal: 'DONE', circuitBreakerThreshold: 9, loop: 'docs', mx: 1 });
  const started = ralph(['start', '--input', 'input.json', '--json']);
  assert.equal(started.code, 0, started.stderr);
  assert.match(started.stderr, /ignored keys of input\.json: mx/);
  assert.equal(started.json['maxIterations'], 7);
  assert.equal(started.json['name'], 'docs');
  const contract = JSON.parse(readFileSync(String(started.json['contract']), 'utf8')) as {
    contract: { policy: { completion: object; breaker: { findings: number } } };
  };
  assert.deepEqual(contract.contract.policy.completion, { kind: 'signal', text: 'DONE' });
  assert.equal(contract.contract.policy.breaker.findings, 9);

  const other = ralph(['start', '--json', '--input', 'input.json', '--loop', 'other', '--max-iterations', '8']);
  assert.equal(other.json['maxIterations'], 8);
  assert.equal(other.json['name'], 'other');

  const piped = ralph(['router', 'start', '--input', 'wrong.json']);
  assert.equal(piped.code, 1);
  assert.match(piped.stderr, /maxIterations must be a whole number/);
});

test('an input names the plan, its first task and the number of tasks', (t) => {
  const { dir, ralph, write } = project(t);
  write('PLAN.md', [1, 2].map((id) => `- [ ] **Task ${id}: Make ${id}**\n  - Acceptance: made\n`).join(''));
  commitFolder(dir, 'work');
  write('../input.json', { task: 'PLAN.md', plan: true, from: 'Task 2', maxTasks: 3 });
  const { code, json, stderr } = ralph(['start', '--input', '../input.json', '--json']);
  assert.equal(code, 0, stderr);
  const { contract } = JSON.parse(readFileSync(String(json['contract']), 'utf8')) as {
    contract: { taskPath: string; policy: { plan: { from: string; maxTasks: number } } };
  };
  assert.deepEqual(
    [contract.taskPath, contract.policy.plan.from, contract.policy.plan.maxTasks],
    ['PLAN.md', 'Task 2', 3],
  );
});

test("an agent's text cannot rewrite what the user reads, and a command with hidden parts is not adopted", (t) => {
  const { ralph, sh, write, read } = project(t);
  const odd = '{"\\u001b[31mX":1,"args":{"\\u001b[2J":1}}';
  write('odd.json', odd);
  write('.claude/ralph/PROMPT.md', 'Do it.\n');
  for (const { stderr } of [sh(`${hook('pre')} odd.json`), ralph(['start', '--input', 'odd.json'])]) {
    assert.match(stderr, /args\. must be a text/);
    assert.ok(!stderr.includes('\u001b'), JSON.stringify(stderr));
  }
  const veiled = '# Task\n\n## Validation Commands\n\n- `rm -rf / \u001b[2K\u001b[1Gnpm test`\n';
  write('.claude/ralph/PROMPT.md', veiled);
  const { code, stderr } = ralph(['start', '--adopt-validation', '--yes']);
  assert.equal(code, 1);
  assert.match(stderr, /"rm -rf \/ npm test" contains invisible characters/);
  assert.equal(read('.claude/ralph/PROMPT.md'), veiled);
});
