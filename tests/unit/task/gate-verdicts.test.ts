import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import { checkResult } from '../../../src/task/commands/gate.ts';
import { CommandOutput } from '../../../src/task/commands/run-command.ts';
import { runnerFixtures } from '../support/runner-fixtures.ts';

/** What the gate says of a check that printed this and exited so. */
function judged(run: string, printed: string, code: number): CheckResult {
  const output = new CommandOutput('/project');
  const stream = new PassThrough();
  output.listen(stream);
  stream.emit('data', Buffer.from(printed));
  output.close();
  const outcome = { end: { kind: 'exit' as const, code }, output, tests: output.tests(code === 0) };
  return checkResult({ name: run, run, timeoutSeconds: 60 }, { kind: 'ran', outcome, hidden: () => null });
}

test('a stored output passes only with exit code 0, a test that ran and none that failed', () => {
  const seen: Record<string, number> = {};
  for (const { name, counts, exitCode, output, failures } of runnerFixtures()) {
    assert.ok(Number.isInteger(exitCode), `${name} has an exit code`);
    const [ran = 0, failed = 0] = (counts.match(/\d+/g) ?? []).map(Number);
    // What swallows the exit code (`|| true`, a pipe) may not turn the verdict, and what adds one fails the check.
    for (const code of [exitCode, 0, 1]) {
      const { outcome, detail } = judged('npm test', output, code);
      const isGreen = code === 0 && failed === 0;
      const isEmpty = ran === 0 && counts !== 'no runner';
      assert.equal(outcome, isGreen ? (isEmpty ? 'vacuous' : 'ok') : 'failed', `${name}, exit code ${code}`);
      const isContradiction = code === 0 && failed > 0;
      assert.equal(
        /^exited with 0, but its runner reports \d+ failed/.test(detail),
        isContradiction,
        `${name}: ${detail}`,
      );
      for (const failure of failures.slice(0, outcome === 'failed' ? 3 : 0))
        assert.ok(detail.split('\n', 1)[0]?.includes(failure.slice('--- | '.length)), `${name} names ${failure}`);
      if (code === exitCode) seen[outcome] = (seen[outcome] ?? 0) + 1;
    }
  }
  for (const outcome of ['ok', 'failed', 'vacuous']) assert.ok((seen[outcome] ?? 0) >= 30, JSON.stringify(seen));
});

test('a package manager that finds no script to run proves nothing, and one that runs it does', () => {
  const warning =
    'npm warn Unknown project config "foo-bar". This will stop working in the next major version of npm.\n';
  const header = '\n> a@1.0.0 lint\n> true\n\n';
  const scope = 'Scope: 2 of 3 workspace projects\n';
  const cases: readonly (readonly [string, string, CheckResult['outcome']])[] = [
    ['pnpm --filter a --if-present run tset', '', 'vacuous'],
    ['pnpm -r --if-present run tset', scope, 'vacuous'],
    [
      'pnpm -C a --if-present tset',
      ' WARN  The "workspaces" field in package.json is not supported by pnpm.\n',
      'vacuous',
    ],
    ['pnpm --filter nosuch --if-present run lint', 'No projects matched the filters in "/project"\n', 'vacuous'],
    ['npm run tset --if-present', '', 'vacuous'],
    ['pnpm --filter a test', '', 'vacuous'],
    ['pnpm -r run tset', scope, 'vacuous'],
    ['pnpm --filter a quiet', '$ node -e 1\n', 'ok'],
    ['pnpm --filter a exec node -e 1', '', 'ok'],
    ['pnpm -r --reporter=silent test', '', 'ok'],
    ['yarn workspaces foreach -A run tset', 'Done in 0s 1ms\n', 'vacuous'],
    ['yarn workspaces foreach -A run lint', '[a]: fine\nDone in 1s 20ms\n', 'ok'],
    ['npm run tset --if-present', warning, 'vacuous'],
    ['npm run tset --if-present --workspaces', `npm notice New minor version of npm available!\n${warning}`, 'vacuous'],
    ['pnpm --filter a --if-present run lint', header, 'ok'],
    ['pnpm -r --if-present run lint', `${scope}a lint$ true\na lint: Done\n`, 'ok'],
    ['npm run lint --if-present', `${warning}${header}`, 'ok'],
    // Without the option a missing script is an error of its own; a check may be silent.
    ['npm run lint', warning, 'ok'],
    ['test -f out.txt', '', 'ok'],
  ];
  for (const [run, printed, outcome] of cases) assert.equal(judged(run, printed, 0).outcome, outcome, run);
});
