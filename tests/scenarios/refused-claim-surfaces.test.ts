import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { type Project, project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { agent, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const PACKAGE = (name: string): string => JSON.stringify({ name, version: '1.0.0', scripts: { test: 'node --test' } });

/** A line of the failed check's raw output, and how often a surface has it: once for each claim that it tells about. */
const RAW = /(?:#|ℹ) fail 1\b/g;
const RAW_LINES: Readonly<Record<string, number>> = {
  'the screen': 0,
  'the end on the screen': 0,
  explain: 2,
  'the claim in explain': 2,
  logs: 2,
  status: 0,
  'status --json': 1,
  'the prompt': 1,
  'the report': 2,
  'the notification': 0,
};

interface Refused {
  readonly check: string;
  /** What names the failed test, with its message. */
  readonly named: RegExp;
}

/** Runs a loop whose claim this check refuses, and returns what a reader meets, each from the line where the claim, or the end, is told. */
function assertNamed(p: Project, { check, named }: Refused) {
  const command = ['tee', 'told.json'];
  task(p, `max_iterations: 2\nvalidation: [${JSON.stringify(check)}]\nnotify: {command: [${command.join(', ')}]}`);
  agreeTo(p.dir, p.env, { 'notify.command': command });
  const cmd = agent(
    p,
    `n=$(wc -l < runs.txt); echo "$prompt" > "prompt-$n.txt"; echo "This is try $n."; echo ${SIGNAL}`,
  );
  const run = p.ralph(['run', '--plain', '--agent', cmd, '--report', 'report.html']);
  assert.equal(run.code, 2, run.stderr);
  const surfaces: Readonly<Record<string, readonly [text: string, from: RegExp]>> = {
    'the screen': [run.stdout, /^ralph-loop: Completion rejected/m],
    'the end on the screen': [run.stdout, /^ralph-loop: Stopped after 2 iterations/m],
    explain: [p.ralph(['explain']).stdout, /^The loop: iteration limit \(/m],
    'the claim in explain': [p.ralph(['explain']).stdout, /completion rejected/],
    logs: [p.ralph(['logs']).stdout, /completion\.rejected/],
    status: [p.ralph(['status']).stdout, /^The last loop ended/m],
    'status --json': [JSON.stringify(p.ralph(['status', '--json']).json), /"outcome":"failed"/],
    'the prompt': [p.read('prompt-2.txt'), /^## Your claim of completion was rejected\n/m],
    'the report': [p.read('report.html'), /completion\.rejected/],
    'the notification': [p.read('told.json'), /"message"/],
  };
  for (const [where, [text, from]] of Object.entries(surfaces)) {
    const at = text.search(from);
    assert.notEqual(at, -1, `${where}: ${text.slice(0, 2_000)}`);
    const first = text
      .slice(at)
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(0, 2)
      .join('\n');
    assert.match(first, named, `${where}: ${first.slice(0, 2_000)}`);
  }
  return { run, surfaces };
}

test('every screen names the failed test of a refused claim in the first two lines about it', (t) => {
  const p = project(t);
  p.write('package.json', JSON.stringify({ name: 'root', private: true, workspaces: ['packages/*'] }));
  for (const name of ['a', 'b']) p.write(`packages/${name}/package.json`, PACKAGE(name));
  p.write(
    'packages/a/cart.test.js',
    `const { test } = require('node:test');
test('discount is whole cents', () => require('node:assert').strictEqual(139.5, 139));
test('sum adds up', () => require('node:assert').equal(1 + 1, 2));
`,
  );
  p.write('packages/b/b.test.js', "require('node:test').test('b works', () => require('node:assert').equal(1, 1));\n");
  const { run, surfaces } = assertNamed(p, {
    check: 'npm test --workspaces',
    named: /npm test --workspaces: 1 of 3 tests fails: discount is whole cents \(.*cart\.test\.js:2\): 139\.5 !== 139/,
  });
  const rawLines = Object.entries(surfaces).map(([where, [text]]) => [where, [...text.matchAll(RAW)].length]);
  assert.deepEqual(Object.fromEntries(rawLines), RAW_LINES);
  // Control: the package that passes is no part of what is shown first.
  assert.doesNotMatch(run.stdout.slice(0, run.stdout.indexOf('139.5 !== 139')), /# fail 0/);
});

const VITEST = `
 FAIL  v-fail/cart.test.mjs > cart > discount is whole cents
AssertionError: expected 139.5 to be 139 // Object.is equality

 ❯ v-fail/cart.test.mjs:6:27

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
`;

/** Further runners: what is in the project, its check, and how the failed test is named. */
const RUNNERS: readonly (Refused & { readonly files: Readonly<Record<string, string>> })[] = [
  {
    check: 'python3 -m pytest -q -p no:cacheprovider',
    named: /1 of 2 tests fails: test_discount \(test_cart\.py:2\): .*139\.5 !== 139/,
    files: {
      'test_cart.py':
        "def test_discount():\n    assert 139.5 == 139, '139.5 !== 139'\n\ndef test_sum():\n    assert 1 + 1 == 2\n",
    },
  },
  {
    check: 'go test ./...',
    named: /1 .*tests? fails?: TestDiscount \(cart_test\.go:6\): 139\.5 !== 139/,
    files: {
      'go.mod': 'module cart\n\ngo 1.19\n',
      'cart_test.go':
        'package cart\n\nimport "testing"\n\nfunc TestDiscount(t *testing.T) {\n\tt.Error("139.5 !== 139")\n}\n\nfunc TestSum(t *testing.T) {}\n',
    },
  },
  {
    check: 'sh vitest.sh',
    named:
      /1 of 2 tests fails: cart > discount is whole cents \(v-fail\/cart\.test\.mjs:6\): expected 139\.5 to be 139/,
    files: { 'vitest.sh': 'cat vitest.txt; exit 1\n', 'vitest.txt': VITEST },
  },
];

for (const { files, ...refused } of RUNNERS) {
  longTest(`every screen names the failed test of ${refused.check} as well`, (t) => {
    const p = project(t);
    for (const [path, text] of Object.entries(files)) p.write(path, text);
    assertNamed(p, refused);
  });
}
