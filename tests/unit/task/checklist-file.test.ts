import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkTaskFile, isUnfilled } from '../../../src/task/check/check-task-file.ts';
import { resolvePolicy } from '../../../src/task/settings/resolve-policy.ts';
import { loopDirectoryName, mayName } from '../../../src/task/task-file.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const check = (text: string) => checkTaskFile('.ralph/site/task.md', text);
const rules = (text: string): string[] => check(text).problems.map(({ rule, severity }) => `${severity} ${rule}`);
const resolve = (text: string, more: object = {}) =>
  resolvePolicy({ kind: 'checklist', frontmatter: check(text).frontmatter, ...more });

describe('the file of a checklist', () => {
  test('that is the template is not filled in', () => {
    const template = readFileSync(join(root, 'templates', 'task.md'), 'utf8');
    assert.deepEqual(rules(template), ['error unfilled']);
    assert.deepEqual(rules(template.replace(/(# Goals\n\n)<!--.*-->/, '$1A site.')), []);
    assert.deepEqual(rules(`${template}\n- [ ] one step\n`), []);
  });

  for (const [what, text, unfilled] of [
    ['headings alone', '# A\n\nB\n', false],
    ['empty items and rules', '# A\n- [ ]\n- \n1.\n* [x]\n---\n===\n', true],
    ['comments', '<!-- a\nb -->\n# A\n', true],
    ['one word', 'do', false],
    ['a fence', '```\nnpm test\n```\n', false],
    ['nothing', ' \n\n', true],
  ] as const) {
    test(`with ${what} is ${unfilled ? 'not ' : ''}filled in`, () => assert.equal(isUnfilled(text), unfilled));
  }

  test('needs no frontmatter, takes the keys of a task folder, and has at most 50 iterations', () => {
    assert.deepEqual(rules('# Goals\n\nA site.\n\n- [ ] one\n'), []);
    assert.deepEqual(rules('---\nreflect_every: 2\nitems_per_iteration: 1\n---\n- [ ] one\n'), []);
    assert.deepEqual(rules('---\nmax_iterations: 51\nreflect_every: 1\n---\n- [ ] one\n'), [
      'error range',
      'error range',
    ]);
    const resolved = resolve('- [ ] one\n');
    assert.ok(resolved.ok);
    const { policy, settings } = resolved;
    assert.deepEqual(
      [policy.maxIterations, policy.completion, policy.pace.tracksProgress],
      [50, { kind: 'none' }, true],
    );
    assert.deepEqual([settings.task?.gate, settings.task?.reflectEvery], ['disabled', null]);
  });

  test('that names outputs or acceptance commands has a required gate, without a promise', () => {
    for (const keys of ['required_outputs: [a.md]', 'commands: [{ name: t, run: npm test, acceptance: true }]']) {
      const text = `---\n${keys}\n---\n- [ ] one\n`;
      assert.deepEqual(rules(text), [], keys);
      const resolved = resolve(text);
      assert.equal(resolved.ok && resolved.settings.task?.gate, 'required', keys);
    }
    assert.deepEqual(rules('---\nrequired_outputs: [a.md]\ncompletion_gate: disabled\n---\n- [ ] one\n'), [
      'warning not-gated',
    ]);
    assert.deepEqual(rules('---\ncompletion_gate: required\n---\n- [ ] one\n'), []);
  });

  test('completes by its own state, or by a configured promise or signal', () => {
    const completion = (keys: string): unknown => {
      const resolved = resolve(`---\n${keys}\n---\n- [ ] one\n`);
      return resolved.ok && resolved.policy.completion;
    };
    assert.deepEqual(completion('model: opus'), { kind: 'none' });
    assert.deepEqual(completion('completion_signal: READY'), { kind: 'signal', text: 'READY' });
    assert.deepEqual(completion('completion_promise: DONE'), { kind: 'promise', text: 'DONE' });
  });
});

describe('the settings of a checklist', () => {
  const layers = {
    flags: { reflect_every: '0' },
    configs: {
      'loop config': { model: 'loop', effort: 'loop', reflectEvery: 3 },
      'run config': { model: 'run', effort: 'run', permissionMode: 'plan', reflect_every: 4 },
      'project config': { model: 'p', permission_mode: 'acceptEdits', max_iterations: 9 },
      'user config': { max_iterations: 8, budget: { max_cost: 1 } },
    },
  };

  test('come from the nearest layer that sets them', () => {
    const resolved = resolve('---\nmodel: own\n---\n- [ ] one\n', layers);
    assert.ok(resolved.ok, JSON.stringify(resolved.problems));
    const { settings, policy, sources } = resolved;
    assert.deepEqual(
      [settings.model, settings.effort, settings.permissionMode, policy.maxIterations, policy.budget.maxCostUsd],
      ['own', 'loop', 'plan', 9, 1],
    );
    assert.equal(settings.task?.reflectEvery, null, '0 switches off what lies below');
    assert.deepEqual(
      ['model', 'effort', 'permission_mode', 'max_iterations', 'reflect_every'].map((key) => sources[key]),
      ['frontmatter', 'loop config', 'run config', 'project config', 'flag'],
    );
  });

  test('of other files name the file they could belong to, and a PROMPT.md ignores the reflection', () => {
    const resolved = resolvePolicy({ kind: 'prompt', configs: { 'project config': { reflect_every: 3 } } });
    assert.ok(resolved.ok);
    const refused = resolvePolicy({ kind: 'checklist', configs: { 'project config': { required_outputs: ['a'] } } });
    assert.equal(refused.problems[0]?.rule, 'task-file-only');
    assert.ok(resolvePolicy({ kind: 'checklist', configs: { 'loop config': { required_outputs: ['a'] } } }).ok);
  });
});

test('only .ralph/NAME with its task.md is a loop directory in .ralph', () => {
  assert.equal(loopDirectoryName('.ralph/site/task.md'), 'site');
  for (const path of [
    'task.md',
    '.ralph/task.md',
    '.ralph/a/b/task.md',
    '.ralph/site/RALPH.md',
    'x/.ralph/a/task.md',
  ]) {
    assert.equal(loopDirectoryName(path), null, path);
  }
  const none = [
    'worktrees',
    'WorkTrees',
    'config.json',
    '.a',
    'a b',
    '',
    'a..',
    'a.',
    'CON',
    'nul.txt',
    'Com1',
    'LPT9',
  ];
  for (const name of none) assert.equal(mayName(name), false, name);
  for (const name of ['a.b', 'console', 'com', 'com10', 'nullify']) assert.equal(mayName(name), true, name);
});
