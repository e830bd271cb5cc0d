import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import { ENV } from '../../support/environment.ts';
import { folderWith } from '../../support/folder.ts';
import { gate } from './support/gate.ts';

const CART = `const assert = require('node:assert/strict');
const { test } = require('node:test');
test('adds', () => assert.equal(1 + 2, 3));
test('discount is whole cents', () => {
  assert.equal(155 * 0.9, 139);
});
`;
const RUN = `"${process.execPath}" --test`;
const packageJson = (name: string): string => JSON.stringify({ name, version: '1.0.0', scripts: { test: RUN } });
const WORKSPACES = {
  'package.json': '{"name":"shop","private":true,"workspaces":["api","web"]}',
  'api/package.json': packageJson('api'),
  'api/cart.test.js': CART,
  'web/package.json': packageJson('web'),
  'web/web.test.js': "require('node:test').test('shows the cart', () => {});\n",
};

test('a failed check names the failed tests first, then what the runner printed', async (context) => {
  const folder = folderWith(context, { 'cart.test.js': CART, 'good.test.js': CART.replace('139)', '139.5)') });
  const [spec, good] = await gate(folder, [`${RUN} --test-reporter=spec cart.test.js`, `${RUN} good.test.js`]);
  const [head = '', ...output] = (spec?.detail ?? '').split('\n');
  assert.equal(head, '1 of 2 tests fails: discount is whole cents (cart.test.js:4): 139.5 !== 139');
  assert.equal(output.filter((line) => line === 'ℹ fail 1').length, 1);
  assert.deepEqual(spec?.tests?.failures, [
    { name: 'discount is whole cents', file: 'cart.test.js', line: 4, message: '139.5 !== 139' },
  ]);
  assert.deepEqual([good?.outcome, good?.tests?.run, good?.tests?.failed], ['ok', 2, 0]);
});

test('a check that exits with 0 is refused if its runner reports failed tests', async (context) => {
  const folder = folderWith(context, { 'cart.test.js': CART, 'good.test.js': CART.replace('139)', '139.5)') });
  const [hidden, summary, good, todo] = await gate(folder, [
    `${RUN} cart.test.js || true`,
    'echo "Tests:       2 failed, 4 passed, 6 total"',
    `${RUN} good.test.js || true`,
    'printf "not ok 1 - later # TODO\\nok 2 - a\\n1..2\\n# tests 2\\n# pass 1\\n# fail 1\\n"',
  ]);
  assert.equal(hidden?.outcome, 'failed');
  assert.match(
    hidden?.detail ?? '',
    /^exited with 0, but its runner reports 1 failed test: discount is whole cents \(/,
  );
  assert.match(summary?.detail ?? '', /^exited with 0, but its runner reports 2 failed tests\.\n/);
  assert.deepEqual([good?.outcome, todo?.outcome], ['ok', 'ok']);
});

test('a passing runner whose reporter counts nothing proves nothing, and says so', async (context) => {
  const header = (call: string): string => `printf '\\n> a@1.0.0 test\\n> ${call}\\n\\n..\\n'`;
  const commands = [
    `${RUN} --test-reporter=lcov web.test.js`,
    `mkdir empty && cd empty && ${RUN} --test-reporter=dot`,
    ...['jest --ci --reporters=jest-junit', 'mocha -R landing', 'jest --listTests'].map(header),
    `${header('jest --reporters=github-actions')}; exit 1`,
    `${header('vitest run --reporter=dot')}; echo '      Tests  1 passed (1)'`,
    `${RUN} --test-reporter=dot web.test.js`,
    ...['jest', 'mocha -r esm', 'eslint --format unix', 'kubectl apply --dry-run=server'].map(header),
    ...['vitest run list', 'cargo test --no-run && ./run-them', 'cargo run -- --list'].map(header),
    header('cargo bench --no-run'),
  ];
  const results = await gate(folderWith(context, { 'web.test.js': WORKSPACES['web/web.test.js'] }), commands);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    [...new Array(5).fill('unavailable'), 'failed', ...new Array(10).fill('ok')],
  );
  assert.match(
    results[0]?.detail ?? '',
    /^its reporter does not say how many tests ran, so a pass proves nothing\. Add the default/,
  );
});

test('a check that only lists or plans its tests proves nothing', async (context) => {
  const scripts = {
    plan: 'make -n all',
    list: 'npm run plan',
    both: 'make -n all && make all',
    'pretest-all': 'mocha --version',
    'test-all': 'mocha',
  };
  const program = '#!/bin/sh\necho "  1 passing (1ms)"\n';
  const folder = folderWith(context, {
    'package.json': JSON.stringify({ scripts }),
    Makefile: 'all:\n\t@test -f package.json\n',
    'bin/mocha': program,
  });
  chmodSync(join(folder, 'bin/mocha'), 0o755);
  const env = { ...ENV, PATH: `${join(folder, 'bin')}:${ENV['PATH']}` };
  const commands = ['make -n all', 'npm run list', 'mocha --dry-run', 'npm run test-all -- --list-files'];
  const controls = ['make all', 'npm run both', 'make -n all && make all', 'mocha', 'npm run test-all'];
  const results = await gate(folder, [...commands, ...controls], { env });
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    [...commands.map(() => 'unavailable'), ...controls.map(() => 'ok')],
  );
  const only = 'Only the user may change that.';
  assert.equal(results[0]?.detail, `it tests nothing with "-n": remove that. ${only}`);
  assert.match(
    results[1]?.detail ?? '',
    /^it runs the script "list", which runs the script "plan", which tests nothing/,
  );
});

test('a check whose exit code says nothing proves nothing, unless its runner counts', async (context) => {
  const folder = folderWith(context, {
    'cart.test.js': CART,
    'web.test.js': WORKSPACES['web/web.test.js'],
    Makefile: `soft:\n\tfalse || true\ncounted:\n\t${RUN} web.test.js || true\n`,
  });
  const results = await gate(folder, [
    ...['make soft', 'make counted', '! nosuch -l .', 'test -z "$(nosuch -l .)"', 'nosuch use; test -d .'],
    'nosuch | tail -5',
    `${RUN} cart.test.js > log.txt 2>&1; true`,
    'test -f missing.txt || echo missing',
    `${RUN} web.test.js 2>&1 | cat`,
    `${RUN} cart.test.js 2>&1 | cat`,
    'set -o pipefail; echo fine | cat',
    'test -f missing.txt || exit 1; true',
    ...[`${RUN} cart.test.js | tail -5`, `${RUN} web.test.js | tail -5`],
    // So does the shell of macOS say it.
    '! false nosuch && echo "bash: nosuch: command not found"',
  ]);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    [
      ...['unavailable', 'ok', 'unavailable', 'unavailable', 'ok'],
      ...['unavailable', 'unavailable', 'unavailable', 'ok', 'failed', 'ok', 'failed'],
      ...['unavailable', 'unavailable', 'unavailable'],
    ],
  );
  assert.match(results[0]?.detail ?? '', /^it runs Makefile, which exits with 0 .* Only the user may change that\.$/);
  assert.equal(results[2]?.detail, 'it passes because the program "nosuch" is not on the PATH.');
  assert.match(
    results[5]?.detail ?? '',
    /^it has the exit code of "tail", whatever fails before it: remove "\| tail -5", or begin .* Only the user may/,
  );
});

test('go is asked to name each test, beside the flags that its user has set', async (context) => {
  const go = [
    'case "$GOFLAGS" in "-mod=mod -v") echo "--- SKIP: TestA (0.00s)";; esac',
    "printf 'ok  \\ta\\t0.1s\\n'",
  ].join('\n');
  const folder = folderWith(context, {
    'bin/go': `#!/bin/sh\n${go}\n`,
    'config/go/env': 'GOFLAGS=-mod=mod\n',
    Makefile: 'test:\n\tgo test ./...\n',
  });
  chmodSync(join(folder, 'bin/go'), 0o755);
  const env = { ...ENV, XDG_CONFIG_HOME: join(folder, 'config'), PATH: `${join(folder, 'bin')}:${ENV['PATH']}` };
  const results = await gate(folder, ['go test ./...', 'make test', 'bin/go test ./...'], { env });
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['vacuous', 'vacuous', 'ok'],
    'the last one is the control',
  );
});

test('a test run that ends before its result proves nothing', async (context) => {
  const go =
    'case "$*" in *sub*) printf "=== RUN   TestA\\n--- PASS: TestA (0.00s)\\n";; esac; printf "ok  \\ta\\t0.1s\\n"';
  const folder = folderWith(context, {
    'bin/go': `#!/bin/sh\n${go}\n`,
    'bin/prove':
      '#!/bin/sh\nif [ "$HARNESS_VERBOSE" ]; then printf "t/a.t ..\\n1..1\\nok 1 # skip no net\\nok\\n"; else echo "t/a.t .. ok"; fi\n',
    Makefile: 'test:\n\tGOFLAGS= go test ./...\n',
  });
  for (const name of ['go', 'prove']) chmodSync(join(folder, 'bin', name), 0o755);
  const env = { ...ENV, PATH: `${join(folder, 'bin')}:${ENV['PATH']}` };
  const begun = 'echo "=== test session starts ==="; echo "collected 2 items"';
  const cases: readonly (readonly [run: string, outcome: CheckResult['outcome']])[] = [
    [begun, 'vacuous'],
    [`${begun}; echo "=== 2 passed in 0.01s ==="`, 'ok'],
    [`${begun}; exit 139`, 'failed'],
    ["printf ' RUN  v2.1.9 /p\\n\\n ✓ a.bench.mjs 508ms\\n\\n BENCH  Summary\\n\\n'", 'ok'],
    ['go test ./...', 'vacuous'],
    ['cd . && CGO_ENABLED=0 go test ./... 2>&1', 'vacuous'],
    ['go test ./sub', 'ok'],
    ['go test -bench . ./...', 'ok'],
    ['make test', 'ok'],
    ['prove', 'vacuous'],
    ['bin/prove', 'ok'],
  ];
  const results = await gate(
    folder,
    cases.map(([run]) => run),
    { env },
  );
  assert.deepEqual(
    results.map(({ outcome }, index) => [cases[index]?.[0], outcome]),
    cases,
  );
  assert.match(results[0]?.detail ?? '', /^exit code 0, but its test runner reports no test that it executed/);
});

test('of several packages, the end of the one that failed is shown', async (context) => {
  const [result] = await gate(folderWith(context, WORKSPACES), ['npm test --workspaces']);
  const detail = result?.detail ?? '';
  assert.match(detail, /^1 of 3 tests fails: discount is whole cents \(api\/cart\.test\.js:4\): 139\.5 !== 139\n/);
  assert.match(detail, /^# fail 1$/m);
  assert.doesNotMatch(detail, /shows the cart|^# fail 0$/m);
});

test('a run of several packages that executed no test is vacuous', async (context) => {
  const skipped = (prefix: string): string =>
    `printf '${prefix}# tests 1\\n${prefix}# pass 0\\n${prefix}# fail 0\\n${prefix}# skipped 1\\n'`;
  const commands = [
    `npm test --workspaces -- --test-name-pattern=nomatch`,
    `${skipped('packages/api test: ')}; ${skipped('packages/web test: ')}`,
    skipped('web:test: '),
    skipped('web-1  | '),
    skipped('[web] '),
    "printf 'web:test:       Tests  5 skipped (5)\\n'",
    `echo 'No projects matched the filters in "/project"'`,
    `echo 'None of the selected packages has a "tset" script'`,
    'npm run tset --workspaces --if-present',
    `printf 'bun test v1.2.0\\n\\n(skip) later\\n\\n 0 pass\\n 1 skip\\n 0 fail\\nRan 1 test across 1 file.\\n'`,
  ];
  const results = await gate(folderWith(context, WORKSPACES), commands);
  assert.deepEqual(
    results.map(({ name, outcome }) => `${name}: ${outcome}`),
    results.map(({ name }) => `${name}: vacuous`),
  );
  const passing = [
    'echo "packages/api test: # pass 1"',
    'echo "web:test:       Tests  5 passed (5)"',
    'npm test -w web --if-present',
    'true',
  ];
  const controls = await gate(folderWith(context, WORKSPACES), passing);
  assert.deepEqual(
    controls.map(({ outcome }) => outcome),
    ['ok', 'ok', 'ok', 'ok'],
  );
});

test('output is kept as a terminal shows it: without colours, titles and overwritten progress', async (context) => {
  const [bar] = await gate(folderWith(context), [
    `for i in 1 2 3 4 5; do printf 'loading %s0%%\\r' $i; done; printf 'done       \\n'; printf '\\033]0;EVIL TITLE\\007\\033[31mred\\033[0m\\n'; exit 1`,
  ]);
  assert.equal(bar?.detail, 'exit code 1.\ndone\nred');
  const [moved] = await gate(folderWith(context), [
    `printf 'one: 1\\ntwo: 1\\n\\033[2A\\033[Kone: 2\\n\\033[Ktwo: 2\\nend\\n'; exit 1`,
  ]);
  assert.equal(moved?.detail, 'exit code 1.\none: 2\ntwo: 2\nend');
});
