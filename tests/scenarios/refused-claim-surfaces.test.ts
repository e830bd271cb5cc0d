import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agreeTo } from '../support/agree-to.ts';
import { project } from '../support/project.ts';
import { agent, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const NAMED =
  /npm test --workspaces: 1 of 3 tests fails: discount is whole cents \(.*cart\.test\.js:2\): 139\.5 !== 139/;

const PACKAGE = (name: string): string => JSON.stringify({ name, version: '1.0.0', scripts: { test: 'node --test' } });

/** A line of the failed check's raw output, and how often a surface has it: once for each claim that it tells about. */
const RAW = /(?:#|ℹ) fail 1\b/g;
const RAW_LINES: Readonly<Record<string, number>> = {
  'the screen': 2,
  'the end on the screen': 2,
  explain: 2,
  'the claim in explain': 2,
  logs: 2,
  status: 0,
  'the checks in status': 0,
  'status --json': 1,
  'the prompt': 1,
  'the report': 2,
  'the notification': 0,
};

/** Where a reader meets the refused claim: its text, from the line where the claim, or the end of the loop, is told. */
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
  const command = ['tee', 'told.json'];
  task(p, `max_iterations: 2\nvalidation: ["npm test --workspaces"]\nnotify: {command: [${command.join(', ')}]}`);
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
    explain: [p.ralph(['explain']).stdout, /^max-iterations/m],
    'the claim in explain': [p.ralph(['explain']).stdout, /completion\.rejected/],
    logs: [p.ralph(['logs']).stdout, /completion\.rejected/],
    status: [p.ralph(['status']).stdout, /^The last loop ended/m],
    'the checks in status': [p.ralph(['status']).stdout, /^ {2}Failed: /m],
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
    assert.match(first, NAMED, `${where}: ${first.slice(0, 2_000)}`);
  }
  const rawLines = Object.entries(surfaces).map(([where, [text]]) => [where, [...text.matchAll(RAW)].length]);
  assert.deepEqual(Object.fromEntries(rawLines), RAW_LINES);
  // Control: the package that passes is no part of what is shown first.
  assert.doesNotMatch(run.stdout.slice(0, run.stdout.indexOf('139.5 !== 139')), /# fail 0/);
});
