import { whyNotRun } from '../../../../src/task/commands/missing-programs.ts';
import { folderWith } from '../../../support/folder.ts';
import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';

const ENV = { PATH: process.env['PATH'], HOME: '/nonexistent' };
const FILES = {
  'package.json':
    '{"scripts": {"check": "node gone.js", "outer": "node there.js", "inner": "npm --prefix pkg run gone"}}',
  'pkg/package.json': '{"scripts": {"check": "exit 1"}}',
  'there.js': "require('./gone.js');\n",
  'there.py': 'import gone\n',
  'there.sh': 'cat gone.sh; node gone.js\n',
  'tell.js': 'console.log("Cannot find module \'/tmp/gone.js\'"); process.exit(1);\n',
  Makefile: 'check:\n\tnode gone.js\n',
};

/** Runs a command, and returns why it could not, for each of these tasks. */
function reasons(t: TestContext, run: string, ...tasks: Parameters<typeof whyNotRun>[3][]): (string | null)[] {
  const dir = folderWith(t, FILES);
  const { status, stdout, stderr } = spawnSync('bash', ['-c', run], { cwd: dir, env: ENV, encoding: 'utf8' });
  assert.notEqual(status, 0);
  const result = { name: 'it', outcome: 'failed', detail: stdout + stderr, exitCode: status ?? 1 } as const;
  return tasks.map((task) => whyNotRun(result, { run }, { dir, env: ENV }, task));
}

const why = (t: TestContext, run: string): string | null => reasons(t, run, {})[0] ?? null;

const CANNOT: readonly (readonly [run: string, says: RegExp])[] = [
  ['node gone.js', /no file gone\.js\. Correct the path; if the task creates it, name it there/],
  ['node --no-warnings ./lib/gone.mjs', /no file \.\/lib\/gone\.mjs\./],
  ['npm run check', /no file gone\.js\./],
  ['python3 gone.py', /no file gone\.py\./],
  ['python3 -u gone.py --all', /no file gone\.py\./],
  ['bash gone.sh', /no file gone\.sh\./],
  ['sh -eu gone.sh', /no file gone\.sh\./],
  ['perl -w gone.pl', /no file gone\.pl\./],
  ['true && node gone.js', /no file gone\.js\./],
  ['make nosuch', /no target "nosuch"/],
  ['cd pkg && npm run gone', /no package\.json that it reads has a script "gone"\. Correct the command/],
  ['npm --prefix pkg test', /has a script "test"/],
  ['npm run inner', /has a script "gone"/],
  [`echo ' ERR_PNPM_NO_SCRIPT  Missing script: e2e:ci'; exit 1`, /has a script "e2e:ci"/],
  [`echo 'error Command "gone" not found.'; exit 1`, /has a script "gone"/],
  [`echo "Usage Error: Couldn't find a script named \\"gone\\"."; exit 1`, /has a script "gone"/],
  [`echo 'error: Script not found "gone"'; exit 1`, /has a script "gone"/],
];

for (const [run, says] of CANNOT)
  test(`a check "${run}" cannot run`, (t) => {
    assert.match(why(t, run) ?? '', says);
  });

test('a missing program is installed by the package manager of the project', (t) => {
  const failed = { name: 'it', outcome: 'failed', detail: '', exitCode: 127 } as const;
  const said = (files: Readonly<Record<string, string>>) =>
    whyNotRun(failed, { run: 'eslint .' }, { dir: folderWith(t, files), env: { PATH: '/nonexistent' } }, {});
  assert.match(said({}) ?? '', /Install it: npm install -D eslint$/);
  assert.match(said({ 'package.json': '{}', 'pnpm-lock.yaml': '' }) ?? '', /Install it: pnpm add -D eslint$/);
});

test('a program that a script does not find is installed in the way of the project', (t) => {
  const said = (run: string, script: string, more: Readonly<Record<string, string>> = {}, env = {}) => {
    const dir = folderWith(t, {
      'package.json': JSON.stringify({ scripts: { test: script }, devDependencies: { vitest: '3' } }),
      ...more,
    });
    const { status, stdout, stderr } = spawnSync('bash', ['-c', run], { cwd: dir, env: ENV, encoding: 'utf8' });
    const failed = { name: 'it', outcome: 'failed', detail: stdout + stderr, exitCode: status ?? 1 } as const;
    return whyNotRun(failed, { run }, { dir, env: { ...ENV, ...env } }, {}) ?? '';
  };
  assert.match(said('npm test', 'vitest run'), /vitest: not found \(exit code 127\)\. Install it: npm install$/);
  assert.match(said('npm test', 'vitest run', { 'pnpm-lock.yaml': '' }), /Install it: pnpm install$/);
  assert.match(said('npm test', 'no-such-tool'), /no-such-tool: not found .* Install it, or correct the command\.$/);
  const module = 'python3 -m gonemodule';
  assert.match(said(module, '', { '.venv/bin/activate': '' }), /Activate its environment: \. \.venv\/bin\/activate$/);
  const active = { VIRTUAL_ENV: '/somewhere/.venv' };
  assert.match(
    said(module, '', { '.venv/bin/activate': '' }, active),
    /Install it: python3 -m pip install gonemodule$/,
  );
  assert.match(said(module, ''), /Install it: python3 -m pip install gonemodule$/);
});

/** Checks that did run, and failed for what they found. */
const FAILED = [
  'node there.js',
  'node tell.js gone.js',
  'node tell.js && node gone.js',
  'npm run outer',
  'python3 there.py',
  'bash there.sh',
  'false && node gone.js',
  'node tell.js || node there.js',
  'cd .. && node gone.js',
  'node --check gone.js',
  'node --test gone.test.js',
  'python3 -c "open(\'gone.py\')"',
  'make check',
  'cd pkg && npm run check',
  'test -f gone.js',
];

for (const run of FAILED)
  test(`control: a check "${run}" can run`, (t) => {
    assert.equal(why(t, run), null);
  });

test('a script that the task names, or that may change, is left to the task', (t) => {
  const [task, mayChange] = ['Write `gone.js`, which prints 1.', ['*.js']];
  const [named, allowed, other] = reasons(t, 'node gone.js', { task }, { mayChange }, { task: 'Write there.js.' });
  assert.deepEqual([named, allowed], [null, null]);
  assert.match(other ?? '', /cannot run/, 'control');
  const paths = ['pkg/package.json', 'pkg/**', '*/package.json', '**/*.json', 'pkg/*.ts'];
  const found = reasons(t, 'cd pkg && npm run gone', ...paths.map((path) => ({ mayChange: [path] })));
  assert.deepEqual(found.slice(0, -1), [null, null, null, null]);
  assert.match(found.at(-1) ?? '', /cannot run/, 'control');
});

test('a script that a test reports as missing is no check that cannot run', (t) => {
  const dir = folderWith(t, FILES);
  const result = { name: 'it', outcome: 'failed', detail: 'npm error Missing script: "gone"\n', exitCode: 1 } as const;
  const tests = { run: 1, failed: 1, skipped: 0, failures: [] };
  const place = { dir, env: ENV };
  assert.equal(whyNotRun({ ...result, tests }, { run: './ci' }, place, {}), null);
  assert.match(whyNotRun(result, { run: './ci' }, place, {}) ?? '', /has a script "gone"/, 'control');
});
