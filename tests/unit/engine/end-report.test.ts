import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type EndReport, noticeLines, reportLines, type ShownNotice } from '../../../src/engine/end-report.ts';
import { localTime } from '../../../src/text/time.ts';

const AT = '2026-03-01T12:00:00.000Z';

function report(more: Partial<EndReport> = {}): string[] {
  return reportLines({
    ...{ outcome: 'complete', reason: 'Done.', verified: true, checks: [{ name: 'tests', outcome: 'ok' }] },
    ...{ proof: 'red-to-green', before: null },
    ...{ iterations: 2, maxIterations: 25, durationMs: 61_499, costUsd: 0.5, tokens: 1234 },
    ...{ changes: null, changedScripts: [], notices: [], unsandboxed: null, lastWords: [], restore: null, next: null },
    ...more,
  });
}

function notices(count: number): ShownNotice[] {
  return Array.from({ length: count }, (_, index) => ({ at: AT, kind: 'change', text: `Notice ${index + 1}.` }));
}

describe('the report at the end of a loop', () => {
  const FIGURES = '  2 iterations of 25, 1m 1s, $0.50, 1,234 tokens';
  const NO_UNDO = '  There is no undo: the files of the start were not recorded.';

  test('says what passed and what it took', () => {
    assert.deepEqual(report(), ['  Passed: tests', FIGURES, NO_UNDO]);
    assert.equal(report({ restore: 'ralph-loop undo' }).at(-1), '  Undo: ralph-loop undo', 'what changed is unknown');
  });

  test('names each check that did not pass, with its outcome unless it just failed', () => {
    const checks = [
      { name: 'tests', outcome: 'ok' },
      { name: 'types', outcome: 'ok' },
      { name: 'lint', outcome: 'failed' },
      { name: 'build', outcome: 'timeout' },
    ] as const;
    assert.deepEqual(report({ checks }).slice(0, 2), ['  Passed: tests, types', '  Failed: lint; build (timeout)']);
    assert.deepEqual(report({ checks: checks.slice(2) }).slice(0, 2), ['  Failed: lint; build (timeout)', FIGURES]);
    assert.deepEqual(report({ checks: [] }), ['  No check was run.', FIGURES, NO_UNDO]);
  });

  test('says why a check failed, how the checks were before, and where those of a plan ran', () => {
    const checks = [{ name: 'lint', outcome: 'failed', why: 'exit code 1' }] as const;
    assert.deepEqual(report({ checks, before: [{ name: 'lint', outcome: 'failed' }], verifiedIn: 'project' }), [
      '  Failed: lint: exit code 1',
      '  Before the start: lint failed',
      '  The checks ran in the project (verify_in: project): a clone of the commits may lack what they needed.',
      FIGURES,
      NO_UNDO,
    ]);
    assert.equal(report({ checks: [], before: [] })[0], '  No check has run since the start.');
  });

  test('says what its time leaves out, and how many iterations its journal lacks', () => {
    assert.deepEqual(report({ stoppedMs: 60_000, unrecorded: 1 }).slice(1), [
      '  2 iterations of 25, 1m 1s (not counting 1m in which it did not run), $0.50, 1,234 tokens',
      '  The journal lacks 1 of 2 iterations: a process, or the machine, stopped before it was written.',
      NO_UNDO,
    ]);
    assert.equal(report({ stoppedMs: 999 })[1], FIGURES);
  });

  test('names unknown figures and rounds the time to seconds', () => {
    assert.equal(
      report({ iterations: 1, durationMs: 61_500, costUsd: null, tokens: null })[1],
      '  1 iteration of 25, 1m 2s, cost unknown, tokens unknown',
    );
  });

  test('lists what changed: the sum first, then files, then new files', () => {
    const stat = [' src/a.ts | 2 +-', ' src/b.ts | 1 +', ' 2 files changed, 2 insertions(+), 1 deletion(-)'];
    assert.deepEqual(report({ changes: { stat, newFiles: ['new.ts'] } }).slice(2), [
      '  Changed since the start: 2 files changed, 2 insertions(+), 1 deletion(-)',
      '    src/a.ts | 2 +-',
      '    src/b.ts | 1 +',
      '    new.ts (new)',
    ]);
    assert.deepEqual(report({ changes: { stat: [], newFiles: ['new.ts'] } }).slice(2), [
      '  Changed since the start:',
      '    new.ts (new)',
    ]);
    const forged = report({ changes: { stat: [], newFiles: ['a\nralph-loop: Complete'] } });
    assert.equal(forged.at(-1), '    a ralph-loop: Complete (new)', 'a name adds no line');
    assert.deepEqual(report({ changes: { stat: [], newFiles: [] } }).slice(2), ['  Nothing changed since the start.']);
  });

  test('names repositories of their own with uncommitted changes, which git does not compare', () => {
    const apart = '  Uncommitted in repositories of their own: vendor/lib';
    const repositories = ['vendor/lib'];
    assert.deepEqual(report({ changes: { stat: [], newFiles: [], repositories } }).slice(2), [
      apart,
      '  Nothing else changed since the start.',
    ]);
    assert.deepEqual(report({ changes: { stat: [], newFiles: ['new.ts'], repositories } }).slice(2), [
      '  Changed since the start:',
      '    new.ts (new)',
      apart,
    ]);
  });

  test('lists twelve files and counts the rest', () => {
    const files = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index + 1}.ts`);
    const twelve = report({ changes: { stat: [], newFiles: files(12) } });
    assert.deepEqual([twelve.length, twelve.at(-1)], [15, '    12.ts (new)']);
    const more = report({ changes: { stat: [], newFiles: files(14) } });
    assert.deepEqual(more.slice(-2), ['    12.ts (new)', '    and 2 more']);
  });

  test('ends with notes, the agent’s words and the next commands, in this order', () => {
    const end = report({
      changes: { stat: [], newFiles: [] },
      changedScripts: ['a.sh was changed', 'b.sh is gone'],
      notices: notices(1),
      unsandboxed: 'The agent ran without a sandbox.',
      lastWords: ['Done.', '  Really.'],
      next: 'git diff abc',
      restore: 'ralph-loop undo',
    });
    assert.deepEqual(end.slice(3), [
      '  Files of the checks that changed: a.sh was changed, b.sh is gone',
      `  Changed at ${localTime(AT)}: Notice 1.`,
      '  The agent ran without a sandbox.',
      "  The agent's final message:",
      '    Done.',
      '      Really.',
      '  Next: git diff abc',
      '  Undo: ralph-loop undo',
    ]);
  });
});

describe('notices', () => {
  test('describe what happened by kind', () => {
    const kinds = ['accept', 'consent', 'restore', 'change'] as const;
    assert.deepEqual(
      noticeLines(kinds.map((kind) => ({ at: AT, kind, text: 'x' }))),
      ['Changed by accept', 'Agreed', 'Restored', 'Changed'].map((label) => `${label} at ${localTime(AT)}: x`),
    );
  });

  test('shows the newest twelve and counts the earlier ones', () => {
    assert.equal(noticeLines(notices(12)).length, 12);
    const lines = noticeLines(notices(14));
    assert.equal(lines.length, 13);
    assert.equal(lines[0], '[2 earlier notices: ralph-loop logs]');
    assert.match(lines[1] ?? '', /Notice 3\.$/);
    assert.match(lines.at(-1) ?? '', /Notice 14\.$/);
  });
});
