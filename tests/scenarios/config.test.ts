import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const CONFIG = '.claude/ralph/config.json';
const KEYS = ['maxIterations', 'completionSignal', 'stateFile', 'promptFile', 'guardrailsFile'];

test('config has exactly the former keys, first and in order', async (t) => {
  const p = project(t);
  const { json, code } = await commandHere(p, ['config', '--json']);
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(json).slice(0, KEYS.length), KEYS);
  assert.deepEqual(
    KEYS.map((key) => json[key]),
    [
      25,
      'RALPH_AUDIT_COMPLETE_NO_FINDINGS',
      join(p.dir, '.claude/context/runtime/ralph-state.json'),
      join(p.dir, '.claude/ralph/PROMPT.md'),
      join(p.dir, '.claude/ralph/guardrails.md'),
    ],
  );
  assert.deepEqual(p.tree(), {}, 'looking writes nothing');
});

test('config prints settings under the keys of a task file, with the source of the limit', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 6\ncompletion_signal: ALL_DONE\n---\n# Task\n');
  const { stdout } = await commandHere(p, ['config']);
  assert.match(stdout, /^max_iterations {5}6 \(frontmatter\)\ncompletion_signal {2}ALL_DONE\n/);
  assert.doesNotMatch(stdout, /[a-z][A-Z]\w+ {2}/);
});

test('config --max-iterations writes the config of the project, which the next start reads', async (t) => {
  const p = project(t);
  assert.equal((await commandHere(p, ['config', '--max-iterations', '7', '--json'])).json['maxIterations'], 7);
  assert.deepEqual(JSON.parse(p.read(CONFIG)), { max_iterations: 7 });
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  assert.equal(p.ralph(['start', '--json']).json['maxIterations'], 7);
});

test('check shows the settings that run takes from .ralph/config.json, and names its mistyped keys', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\ncompletion_promise: DONE\n---\nWork.\n');
  p.write(CONFIG, { max_iterations: 4, model: 'haiku' });
  p.write('.ralph/config.json', { max_iterations: 5, max_iteratons: 3 });
  const { stdout, code } = await commandHere(p, ['check', 'job']);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ +max_iterations +5 +run config$/m);
  assert.match(stdout, /^ +model +haiku +project config$/m);
  assert.match(
    stdout,
    /warning: \.ralph\/config\.json: max_iteratons is not a known key and does nothing\. Did you mean/,
  );
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  assert.match((await commandHere(p, ['check'])).stdout, /^ +max_iterations +4 +project config$/m, 'a session');
});

test('config --max-iterations changes one key of the file and no other byte', async (t) => {
  const p = project(t);
  p.write(CONFIG, '{\n\t"budget": { "max_time": "1h" },\n\t"max_iterations": 3\n}');
  await commandHere(p, ['config', '--max-iterations', '100']);
  assert.equal(p.read(CONFIG), '{\n\t"budget": { "max_time": "1h" },\n\t"max_iterations": 100\n}');
  p.write(CONFIG, '{"model":"opus"}');
  await commandHere(p, ['config', '--max-iterations', '1']);
  assert.equal(p.read(CONFIG), '{"model":"opus","max_iterations":1}');
});

for (const bad of someOf(['0', '101', '-1', '2.5', 'many', '', '1e1', '9'.repeat(30)], 3)) {
  test(`config --max-iterations=${bad.slice(0, 8)} is refused on standard error, and nothing is written`, async (t) => {
    const p = project(t);
    const { code, stdout, stderr } = await commandHere(p, ['config', `--max-iterations=${bad}`]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /--max-iterations must be an integer from 1 to 100/);
    assert.ok(!p.has(CONFIG));
  });
}

test('the environment wins over the frontmatter, and the frontmatter over the config of the project', async (t) => {
  const p = project(t);
  await commandHere(p, ['config', '--max-iterations', '5']);
  p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 6\ncompletion_signal: ALL_DONE\n---\n# Task\n');
  const config = (await commandHere(p, ['config', '--json'])).json;
  assert.deepEqual([config['maxIterations'], config['completionSignal']], [6, 'ALL_DONE']);
  const env = { RALPH_MAX_ITERATIONS: '9', RALPH_COMPLETION_SIGNAL: 'ENOUGH' };
  const other = (await commandHere(p, ['config', '--json'], env)).json;
  assert.deepEqual([other['maxIterations'], other['completionSignal']], [9, 'ENOUGH']);
});

test('setting a limit that another setting overrides says so', async (t) => {
  const p = project(t);
  const { json, stderr } = await commandHere(p, ['config', '--max-iterations', '5', '--json'], {
    RALPH_MAX_ITERATIONS: '9',
  });
  assert.equal(json['maxIterations'], 9);
  assert.match(stderr, /written, but the environment sets 9/);
});

test('an invalid setting is named with its source', async (t) => {
  const p = project(t);
  const { code, stderr } = await commandHere(p, ['config'], { RALPH_MAX_ITERATIONS: '1000' });
  assert.equal(code, 1);
  assert.match(stderr, /RALPH_MAX_ITERATIONS in the environment: max_iterations /);
});

test('a mistyped key of --set keeps the loop from starting, and only a near key is suggested', (context) => {
  const p = project(context);
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const far = p.ralph(['start', '--set', 'bogus.key=1']);
  assert.equal(far.code, 1);
  assert.match(far.stderr, /an option: bogus is not a known key and does nothing\./);
  assert.match(p.ralph(['start', '--set', 'idel.delay=1s']).stderr, /Did you mean "idle"\?/);
  assert.equal(p.has('.claude/context'), false);
});
