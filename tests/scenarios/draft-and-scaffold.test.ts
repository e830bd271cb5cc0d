import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PRESETS } from '../../src/cli/task/scaffold.ts';
import { agreeTo } from '../support/agree-to.ts';
import { commandHere } from '../support/command-here.ts';
import { initRepository } from '../support/git.ts';
import { DIST, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const AGENT = { CLAUDECODE: '1' };

for (const preset of someOf(PRESETS, 3)) {
  test(`the scaffold of ${preset} starts a loop only once its placeholder is replaced`, async (t) => {
    const p = project(t);
    // The preset for failing tests holds them as they are.
    p.write('test/a.test.js', '');
    const args = preset === 'default' ? [] : ['--preset', preset];
    const { code, json, stderr } = await commandHere(p, ['scaffold', ...args, 'my-task', '--json']);
    assert.equal(code, 0, stderr);
    assert.equal(json['path'], join(p.dir, 'my-task/RALPH.md'));
    const unfilled = (await commandHere(p, ['check', 'my-task/RALPH.md', '--json'])).json['problems'] as {
      rule: string;
      line: number;
    }[];
    const isReady = preset === 'fix-tests' || preset === 'security-audit';
    assert.deepEqual(
      unfilled.map(({ rule }) => rule),
      isReady ? [] : ['unfilled'],
    );
    for (const { line } of unfilled) {
      assert.match(p.ralph(['start', '--task', 'my-task']).stderr, /template is not filled in/);
      p.write(
        'my-task/RALPH.md',
        p
          .read('my-task/RALPH.md')
          .split('\n')
          .with(line - 1, 'Write the parser.')
          .join('\n'),
      );
    }
    const checked = (await commandHere(p, ['check', 'my-task/RALPH.md', '--json'])).json;
    assert.deepEqual([checked['ok'], checked['kind'], checked['problems']], [true, 'ralph-md', []]);
    assert.match(p.read('my-task/RALPH.md'), /\{\{ ralph\.name \}\}/);
    const start = p.ralph(['start', '--task', 'my-task']);
    assert.equal(start.code, 0, start.stderr);
  });
}

test('the presets are the folders that the bundle has', () => {
  assert.deepEqual(readdirSync(join(DIST, 'templates/presets')).sort(), [...PRESETS].sort());
});

test('a scaffold may be in a subfolder and have spaces in its name', async (t) => {
  const p = project(t);
  assert.equal((await commandHere(p, ['scaffold', '--preset', 'migration', 'feature/new task'])).code, 0);
  assert.ok(p.has('feature/new task/RALPH.md'));
  mkdirSync(join(p.dir, 'sub'));
  p.ralph(['scaffold', './here/'], {}, join(p.dir, 'sub'));
  assert.ok(p.has('sub/here/RALPH.md'), 'from the current directory');
  await commandHere(p, ['scaffold', 'there', '--project', '.']);
  assert.ok(p.has('there/RALPH.md'));
});

test('a scaffold never overwrites or leaves the directory, and names what is wrong', async (t) => {
  const p = project(t);
  p.write('mine/RALPH.md', 'mine');
  p.write('file', 'mine');
  symlinkSync(p.home, join(p.dir, 'out'));
  symlinkSync(join(p.home, 'nothing'), join(p.dir, 'nowhere'));
  const tree = (): unknown => [readdirSync(p.dir).sort(), readdirSync(p.home), p.read('mine/RALPH.md'), p.read('file')];
  const before = tree();
  for (const [args, why] of someOf(
    [
      [['mine'], /mine\/RALPH\.md already exists/],
      [['file'], /its folder is a file/],
      [['file/below'], /its folder is a file/],
      [['out/x'], /leads out of the project through a symbolic link/],
      [['nowhere'], /is broken/],
      [['../x'], /must have no "\.\." segment/],
      [['a/../../x'], /must have no "\.\." segment/],
      [['/tmp/x'], /must be relative/],
      [['.'], /must have no "\." segment/],
      [[''], /must not be blank/],
      [['a\\b'], /backslash/],
      [['.claude/x'], /\.claude belongs to another program/],
      [['a/.git/hooks'], /\.git belongs to another program/],
      [[], /the name of the task folder is missing/],
      [['two', 'words'], /takes one name, not 2\. Quote a name with spaces/],
      [['x', '--preset', 'nothing'], /there is no preset "nothing"\. The presets are: fix-tests, migration/],
      [['x', '--preset', '../default'], /there is no preset/],
    ] as const,
    3,
  )) {
    const { code, stderr, stdout } = await commandHere(p, ['scaffold', ...args]);
    assert.deepEqual([code, stdout], [1, ''], args.join(' '));
    assert.match(stderr, why, args.join(' '));
    assert.deepEqual(tree(), before, args.join(' '));
  }
});

test('a draft is written to a folder named after its words, with the project’s own commands', async (t) => {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'node --test', lint: 'eslint .' } });
  p.write('pnpm-lock.yaml', '');
  p.write('bin/pnpm', '#!/bin/sh\n');
  chmodSync(join(p.dir, 'bin/pnpm'), 0o755);
  const env = { PATH: `${join(p.dir, 'bin')}:${process.env['PATH']}` };
  const { code, json } = await commandHere(p, ['draft', 'Fix the flaky auth tests', '--json'], env);
  assert.equal(code, 0);
  assert.deepEqual(json, {
    ...{ success: true, path: join(p.dir, 'fix-flaky-auth-tests/RALPH.md'), name: 'fix-flaky-auth-tests' },
    ...{ kind: 'fix', commands: ['pnpm test', 'pnpm run lint'], problems: [] },
    notes: [
      'Checks that must pass at the end: pnpm test (package.json).',
      'The agent also sees the output of pnpm run lint (package.json).',
    ],
  });
  assert.match(p.read('fix-flaky-auth-tests/RALPH.md'), /do \{ pnpm test; \}/);
  const start = () => p.ralph(['start', '--task', 'fix-flaky-auth-tests', '--no-baseline']);
  assert.match(start().stderr, /may_run: .*"git commit".*\(task file\)/, 'no one has agreed by writing a draft');
  agreeTo(p.dir, p.env, { may_run: ['pnpm test', 'pnpm run lint', 'git add', 'git commit'] });
  assert.equal(start().code, 0);
});

test('a second draft of the same words gets a number; a given name must be free', async (t) => {
  const p = project(t);
  for (const expected of ['add-csv', 'add-csv-2', 'add-csv-3']) {
    const { json } = await commandHere(p, ['draft', 'add', 'CSV', '--json']);
    assert.deepEqual([json['path'], json['name']], [join(p.dir, expected, 'RALPH.md'), expected]);
  }
  assert.equal((await commandHere(p, ['draft', '--name', 'tasks/csv', 'add CSV'])).code, 0);
  assert.match((await commandHere(p, ['draft', '--name', 'tasks/csv', 'add CSV'])).stderr, /already exists/);
  assert.match((await commandHere(p, ['draft', '--name', '../csv', 'add CSV'])).stderr, /"\.\." segment/);
});

test('a preset names the checks that this project has, and no others', async (t) => {
  const p = project(t);
  p.write('tests/test_a.py', 'import unittest\n');
  await commandHere(p, ['scaffold', '--preset', 'fix-tests', 'python']);
  assert.match(p.read('python/RALPH.md'), /- name: tests\n {4}run: python3 -m unittest discover -s tests\n/);
  await commandHere(p, ['scaffold', '--preset', 'migration', 'moved']);
  const moved = p.read('moved/RALPH.md');
  assert.doesNotMatch(moved, /npm|name: build/);
  assert.match(moved, /- name: changed\n {4}run: git diff --stat HEAD\n/);
  assert.match(moved, /Build:\n\n<!-- No build command was found/);
  const { json } = await commandHere(p, ['check', 'moved', '--json']);
  assert.deepEqual(
    (json['problems'] as { rule: string }[]).map(({ rule }) => rule),
    ['unfilled'],
  );
});

test('a draft from no words, or from a whole document, is refused', async (t) => {
  const p = project(t);
  assert.match((await commandHere(p, ['draft'])).stderr, /the task is missing/);
  assert.match((await commandHere(p, ['draft', ' '])).stderr, /the task is missing/);
  assert.match(p.ralph(['draft', 'x'.repeat(20_001)]).stderr, /20001 characters; at most 20000/);
  assert.deepEqual(p.tree(), {});
});

test('draft with the path of a task folder checks and prints its RALPH.md without changing it', async (t) => {
  const p = project(t);
  const text = '---\nmax_iterations: 5\n---\nWork.\n';
  p.write('tasks/auth/RALPH.md', text);
  p.write('broken/RALPH.md', '---\nmax_iterations: 99\n---\nWork.\n');
  const tree = p.tree();
  const words = ['tasks/auth', './tasks/auth', 'tasks/auth/', 'tasks/auth/RALPH.md', join(p.dir, 'tasks/auth')];
  for (const word of someOf(words, 3, 1)) {
    const { code, json } = await commandHere(p, ['draft', word, '--json']);
    const path = join(p.dir, 'tasks/auth/RALPH.md');
    assert.deepEqual([code, json], [0, { success: true, path, problems: [], text }], word);
  }
  const broken = await commandHere(p, ['draft', 'broken', '--json']);
  assert.deepEqual([broken.code, broken.json['success']], [1, false]);
  assert.match(broken.stdout, /max_iterations must be/);
  assert.deepEqual(p.tree(), tree);
});

test('a word that names a task folder opens it, and says how to draft the task instead', async (t) => {
  const p = project(t);
  p.write('auth/RALPH.md', '---\n---\nWork.\n');
  p.write('lint/notes.md', 'no task folder');
  const opened = await commandHere(p, ['draft', 'auth', '--json']);
  assert.match(
    opened.stderr,
    /auth is an existing task folder, so it is checked instead\. .* ralph-loop draft --name NAME "auth"/,
  );
  assert.equal(opened.json['path'], join(p.dir, 'auth/RALPH.md'));
  assert.equal((await commandHere(p, ['draft', './auth'])).stderr, '', 'a path alone needs no word about it');
  assert.equal(
    (await commandHere(p, ['draft', '--name', 'new', 'auth', '--json'])).json['path'],
    join(p.dir, 'new/RALPH.md'),
  );
  assert.equal(
    (await commandHere(p, ['draft', 'lint', '--json'])).json['path'],
    join(p.dir, 'lint/RALPH.md'),
    'a folder is no task folder',
  );
});

test('text that looks like a path is never a task', async (t) => {
  const p = project(t);
  mkdirSync(join(p.dir, 'empty'));
  p.write('../home/other/RALPH.md', '---\n---\nWork.\n');
  const tree = p.tree();
  for (const [word, why] of someOf(
    [
      ['./gone', /no such task folder exists/],
      ['gone/', /no such task folder exists/],
      ['gone/RALPH.md', /no such task folder exists/],
      ['gone.md', /gone\.md: no such file exists/],
      ['./empty', /empty has no RALPH\.md/],
      [join(p.home, 'other'), /is outside the project/],
      ['../home/other', /is outside the project/],
    ] as const,
    3,
  )) {
    const { code, stderr } = await commandHere(p, ['draft', word]);
    assert.equal(code, 1, word);
    assert.match(stderr, why, word);
    assert.deepEqual(p.tree(), tree);
  }
  assert.equal((await commandHere(p, ['draft', 'support and/or login'])).code, 0, 'words with a slash are words');
});

test('draft and scaffold serve agents too', async (t) => {
  const p = project(t);
  assert.equal((await commandHere(p, ['draft', 'add CSV'], AGENT)).code, 0);
  assert.equal((await commandHere(p, ['scaffold', 'x'], AGENT)).code, 0);
});

test('a draft names pytest for a project that uses it, and warns if Python does not find it', async (t) => {
  const p = project(t);
  p.write('pyproject.toml', '[tool.pytest.ini_options]\n');
  p.write('tests/test_a.py', 'def test_a(): assert True\n');
  // Answers the question for a module, as Python without pytest does.
  p.write('bin/python3', '#!/bin/sh\nexit 3\n', 0o755);
  const env = { PATH: `${join(p.dir, 'bin')}:${process.env['PATH']}` };
  const { code, stderr } = await commandHere(p, ['draft', 'fix the failing tests'], env);
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning, line \d+: .* cannot run here: python3 has no module "pytest"\. Install it, or activate/m,
  );
});

test("of a drafted run and its report, git adds the task and the agent's work alone", (t) => {
  const p = project(t);
  const git = initRepository(p.dir);
  // The user's own rules for the folder do not matter to the report.
  p.write('.ralph/.gitignore', '/.gitignore\n/mine/\n');
  const agent = ['--agent', 'echo hi > hi.txt', '--max-iterations', '1', '--yes'];
  const { code, stderr } = p.ralph(['run', ...agent, 'Make a greeting']);
  assert.equal(code, 2, stderr);
  assert.equal(p.ralph(['report']).code, 0);
  assert.equal(p.has('.ralph/reports/ralph-report-make-greeting.html'), true);
  git('add', '--all');
  assert.deepEqual(git('diff', '--cached', '--name-only').split('\n'), ['.ralph/make-greeting/RALPH.md', 'hi.txt', '']);
});
