import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { draftTask } from '../../../src/task/draft/draft-task.ts';
import type { ProjectSignals } from '../../../src/task/draft/project-signals.ts';
import { readYaml } from '../../../src/task/frontmatter/read-yaml.ts';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';
import { draftedWords } from '../../../src/task/task-title.ts';
import fc, { binaryText, runs } from '../../support/property.ts';

const NONE: ProjectSignals = { commands: [], leftOut: [], tests: [] };
const NODE: ProjectSignals = {
  leftOut: [],
  tests: ['test/**', '**/*.spec.*'],
  commands: [
    { role: 'tests', run: 'npm test', from: 'package.json' },
    { role: 'types', run: 'npm run typecheck', from: 'package.json' },
    { role: 'lint', run: 'npm run lint', from: 'package.json' },
    { role: 'build', run: 'npm run build', from: 'package.json' },
    { role: 'tests', run: 'make test', from: 'make' },
    { role: 'tests', run: 'cargo test', from: 'Cargo.toml' },
  ],
};
const TASKS = ['fix the tests', 'migrate to vitest', 'analyse the importer', 'add CSV export'];

const settingsOf = (text: string): Record<string, unknown> =>
  readYaml(splitFrontmatter(text).frontmatter).mapping as Record<string, unknown>;
const nothingWrong = (text: string): void => assert.deepEqual(checkTaskFile('x/RALPH.md', text).problems, [], text);

for (const task of TASKS) {
  for (const [where, signals] of [
    ['a bare folder', NONE],
    ['a project with commands', NODE],
  ] as const) {
    test(`the draft of "${task}" in ${where} is a task file without problems, and always the same`, () => {
      const draft = draftTask(task, signals);
      nothingWrong(draft.text);
      assert.deepEqual(draftTask(task, signals), draft);
      assert.equal(checkTaskFile('x/RALPH.md', draft.text).kind, 'ralph-md');
      assert.equal(draft.text.includes('{{ commands.lint }}'), draft.commands.includes('npm run lint'));
      assert.match(draft.text, /\{\{ ralph\.name \}\}/);
    });
  }
}

test('the draft of a fix validates tests, types and build, and shows lint in its prompt', () => {
  const { validation, commands, may_run } = settingsOf(draftTask('fix it', NODE).text);
  const checks = ['npm test', 'npm run typecheck', 'npm run build', 'make test', 'cargo test'];
  assert.deepEqual(validation, checks);
  assert.deepEqual(commands, [{ name: 'lint', run: 'npm run lint', timeout: 300 }]);
  assert.deepEqual(new Set(may_run as string[]), new Set([...checks, 'npm run lint', 'git add', 'git commit']));
});

test('a draft lets the agent of Claude Code run the checks and commit, if its steps say so', () => {
  const mayRun = (task: string, isClient = true): unknown =>
    settingsOf(draftTask(task, NODE, { isClient }).text)['may_run'];
  assert.equal(mayRun('analyse the importer'), undefined, 'it changes nothing outside its folder');
  assert.equal(mayRun('fix it', false), undefined, 'a command has rules of its own');
  assert.deepEqual(settingsOf(draftTask('fix it', NONE).text)['may_run'], ['git add', 'git commit']);
  assert.deepEqual(settingsOf(draftTask('fix it', NONE, { budget: { max_time: '4h', max_cost: 10 } }).text)['budget'], {
    max_time: '4h',
    max_cost: 10,
  });
});

test('limits and outputs depend on the kind', () => {
  const of = (task: string): unknown[] => {
    const { max_iterations, items_per_iteration, required_outputs } = settingsOf(draftTask(task, NONE).text);
    return [max_iterations, items_per_iteration, required_outputs];
  };
  assert.deepEqual(of('analyse it'), [12, undefined, ['ANALYSIS.md']]);
  assert.deepEqual(of('fix it'), [25, undefined, undefined]);
  assert.deepEqual(of('migrate it'), [40, 1, ['MIGRATION_NOTES.md']]);
  assert.deepEqual(of('add it'), [20, undefined, undefined]);
});

test('every draft denies git push, rm -rf /, downloads piped into a shell, and writes to secrets', () => {
  for (const task of TASKS) {
    assert.deepEqual(settingsOf(draftTask(task, NODE).text)['guardrails'], {
      block_commands: [
        { command: 'git', args: ['push'], reason: 'The user pushes.' },
        { command: 'rm', args: ['/'], reason: 'Name what you want to remove.' },
        { pipeline: ['curl|wget', 'sh|bash|zsh'], reason: 'Download a script, read it, then run it.' },
      ],
      protected_files: ['policy:secret-bearing-paths'],
    });
  }
});

test('notes a project without a command that proves the work, except for an analysis', () => {
  assert.match(draftTask('fix it', NONE).notes.join(), /No command of this project/);
  const lint: ProjectSignals = { commands: [{ role: 'lint', run: 'x', from: 'y' }], leftOut: [], tests: [] };
  assert.match(draftTask('fix it', lint).notes.join(), /No test command/);
  assert.deepEqual(draftTask('fix it', { ...NODE, leftOut: ['make lint (npm run lint is chosen)'] }).notes, [
    'Checks that must pass at the end: npm test (package.json), npm run typecheck (package.json), npm run build (package.json), make test (make), cargo test (Cargo.toml).',
    'The agent also sees the output of npm run lint (package.json).',
    'Found and left out: make lint (npm run lint is chosen).',
  ]);
  assert.deepEqual(draftTask('analyse it', NONE).notes, []);
});

test('notes a stated figure that no check measures', () => {
  const noted = (task: string, signals = NODE): boolean =>
    /No check measures/.test(draftTask(task, signals).notes.join());
  assert.deepEqual(
    ['raise test coverage to 90 %', 'make the benchmarks 20 % faster', 'add 3 pages'].map((task) => noted(task)),
    [true, true, false],
  );
  const measured: ProjectSignals = {
    commands: [{ role: 'tests', run: 'npm run test:coverage', from: 'package.json' }],
    leftOut: [],
    tests: [],
  };
  assert.equal(noted('raise test coverage to 90 %', measured), false);
});

test('a draft for failing tests keeps the tests unchanged, and says so', () => {
  for (const task of ['make the failing tests pass', 'get the test suite green', 'make npm test pass']) {
    const draft = draftTask(task, NODE);
    assert.deepEqual(settingsOf(draft.text)['unchanged'], ['test/**', '**/*.spec.*'], task);
    assert.match(draft.text, /The tests stay as they are: `test\/\*\*`, `\*\*\/\*\.spec\.\*`/);
    assert.match(draft.notes.join(), /Remove "unchanged" if the work has to change them/);
    nothingWrong(draft.text);
  }
  for (const task of [
    'add tests for the parser',
    'fix the flaky tests',
    'make the renamed tests pass and update them',
  ]) {
    assert.equal(settingsOf(draftTask(task, NODE).text)['unchanged'], undefined, task);
  }
  assert.equal(settingsOf(draftTask('make the failing tests pass', NONE).text)['unchanged'], undefined);
});

test('a draft for a migration may change the configuration of the runners that it names', () => {
  for (const [task, globs] of [
    [
      'migrate the tests from jest to vitest',
      ['jest.config.*', 'vite.config.*', 'vitest.config.*', 'vitest.workspace.*'],
    ],
    ['migrate from Python 3.8 to 3.12', ['.python-version']],
    ['replace moment with date-fns', undefined],
    ['fix the failing jest tests', undefined],
  ] as const) {
    const { text, notes } = draftTask(task, NODE);
    assert.deepEqual(settingsOf(text)['may_change'], globs, task);
    assert.equal(/may change the configuration of its checks/.test(notes.join()), globs !== undefined);
    nothingWrong(text);
  }
});

test('flaky tests have to pass five times in a row', () => {
  const { validation } = settingsOf(draftTask('fix the flaky tests', NODE).text);
  assert.deepEqual((validation as unknown[])[0], {
    name: 'tests, five times',
    run: 'for run in 1 2 3 4 5; do { npm test; } || exit 1; done',
    timeout: 1500,
  });
  assert.equal((settingsOf(draftTask('fix the tests', NODE).text)['validation'] as unknown[])[0], 'npm test');
});

for (const [task, name] of [
  ['fix the failing auth tests', 'fix-failing-auth-tests'],
  ['Räume die Größen auf!', 'raume-die-gro-en-auf'],
  ['../../etc/passwd', 'etc-passwd'],
  ['con', 'task-con'],
  ['日本語', 'task'],
  [`a${'b'.repeat(100)}`, `a${'b'.repeat(39)}`],
  ['one two three four five six', 'one-two-three-four-five'],
] as const) {
  test(`names the folder of "${task.slice(0, 40)}" ${name}`, () => assert.equal(draftTask(task, NONE).name, name));
}

test('the metadata comment contains the task, whatever it contains, and follows the frontmatter', () => {
  for (const task of ['fix it', 'end --> the comment', '-- a <!-- b --', '---\nmax_iterations: 1\n---', '"\\\u2028']) {
    const { text } = draftTask(task, NONE);
    const [, json = ''] = /^<!-- ralph-loop: (.*) -->\n/.exec(splitFrontmatter(text).body) ?? [];
    assert.equal(JSON.parse(json).task, task);
    assert.equal(draftedWords(text), task);
    assert.ok(text.startsWith('---\n'), 'editors look for a frontmatter there');
    assert.ok(!json.includes('--'));
    nothingWrong(text);
  }
});

test('a task that looks like Markdown, comments or placeholders stays a quotation', () => {
  const { text } = draftTask('# Title\n## Validation Commands\n```\n{{ args.x }} <!-- gone\n\nlast', NONE);
  const { body } = splitFrontmatter(text);
  nothingWrong(draftTask('a\0b', NONE).text);
  assert.ok(body.includes('> # Title\n> ## Validation Commands\n> ```\n> { { args.x }} <! -- gone\n>\n> last\n'));
  nothingWrong(text);
});

test('any task gives a draft without problems and a name that is a plain folder', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), binaryText()), fc.boolean(), (task, bare) => {
      const draft = draftTask(task, bare ? NONE : NODE);
      nothingWrong(draft.text);
      assert.match(draft.name, /^[a-z0-9][a-z0-9-]{0,40}$/);
    }),
    { numRuns: runs(200) },
  );
});

test('requires a file of open questions only if the task asks for one', () => {
  const of = (task: string) => settingsOf(draftTask(task, NONE).text)['open_questions'];
  assert.deepEqual(TASKS.map(of), ['optional', 'optional', 'optional', 'optional']);
  assert.equal(of('list the open questions about billing, and have them answered'), 'required');
});
