import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { initialState } from '../../../src/engine/initial-state.ts';
import { timeSpent } from '../../../src/engine/policy/loop-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { readHistory, reportData, rowOf, shownText } from '../../../src/web/model/collect-report.ts';
import { LoopHistory } from '../../../src/web/model/loop-history.ts';
import { spentMs } from '../../../src/web/page/text.ts';
import { emptyFolder } from '../../support/folder.ts';

const AT = '2026-01-01T00:00:00.000Z';
const STATE: LoopState = initialState({
  ...{ loopId: 'l', name: null, mode: 'runner', taskPath: 'PROMPT.md', contractHash: null, maxIterations: 9, at: AT },
  consented: true,
});

const FILES = loopFiles('/p', null, { XDG_STATE_HOME: '/s' });
const SHOWN = {
  files: FILES,
  at: AT,
  title: 'A task',
  run: null,
  why: '',
  steps: [],
  next: '',
  until: null,
  notices: () => [],
  questions: () => [],
};

/** What can be asked of a live loop that has this status. */
function controlsOf(status: string): readonly string[] {
  return rowOf({ ...SHOWN, state: STATE, status, live: true }).controls;
}

test('only what a loop can do in its state is offered', () => {
  assert.deepEqual(controlsOf('running'), ['steer', 'pause', 'stop', 'cancel']);
  assert.deepEqual(controlsOf('waiting'), ['wake', 'steer', 'pause', 'stop', 'cancel']);
  assert.deepEqual(controlsOf('paused'), ['steer', 'resume', 'stop', 'cancel']);
  assert.deepEqual(controlsOf('awaiting-consent'), ['cancel'], 'a person agrees at a terminal');
});

test('while the cost of a run is unknown, a live loop costs at least the rest, and an ended one is unknown', () => {
  const costOf = (unpricedRuns: number, live: boolean): unknown[] => {
    const state = { ...STATE, usage: { ...STATE.usage, costUsd: 1.5, unpricedRuns } };
    const { costUsd, isCostPartial } = rowOf({ ...SHOWN, state, status: 'running', live });
    return [costUsd, isCostPartial];
  };
  assert.deepEqual(costOf(1, true), [1.5, true]);
  assert.deepEqual(costOf(0, true), [1.5, false]);
  assert.deepEqual(costOf(1, false), [null, false]);
});

test('the task of a drafted loop begins with its words, not with a heading that only an iteration fills in', (t) => {
  const dir = emptyFolder(t);
  const files = loopFiles(dir, null, { XDG_STATE_HOME: '/s' });
  const loop = { ...SHOWN, files, state: STATE, status: 'complete', live: false };
  const taskOf = (text: string): string | null => {
    writeFileSync(join(dir, 'PROMPT.md'), text);
    return reportData(loop, new LoopHistory(), AT).task;
  };
  assert.equal(taskOf('---\nmax_iterations: 5\n---\n# {{ ralph.name }}\n\nDo it.\n'), 'Do it.');
  assert.equal(taskOf('# Whole cents\n\nDo it.\n'), '# Whole cents\n\nDo it.', 'control');
});

test('paths of the project and the home are shortened, those of a neighbour with a longer name are not', () => {
  const home = process.env['HOME'] ?? '';
  assert.ok(home.length > 1);
  const shown = shownText(`${home}/app`);
  assert.equal(shown(`In ${home}/app/src, "${home}/app" and ${home}/app.`), 'In src, "." and ..');
  assert.equal(shown(`${home}/app-2/x ${home}/app.old ${home}na/x`), `~/app-2/x ~/app.old ${home}na/x`);
});

test('the limit of idle time shows how long the loop has been idle at a stretch', () => {
  const history = new LoopHistory();
  history.take({ type: 'loop.started', at: AT, limits: { maxIdleMs: 3_600_000 } });
  const state = { ...STATE, idle: { since: AT, consecutive: 1, lastCallAt: AT } };
  const { limits } = reportData(
    { ...SHOWN, state, status: 'waiting', live: true },
    history,
    '2026-01-01T00:10:00.000Z',
  );
  assert.deepEqual(limits, [{ name: 'idle time', unit: 'ms', limit: 3_600_000, used: 600_000 }]);
});

test('the time of a loop is what max_time counts: neither a night before its resume nor a pause that lasts', () => {
  const minute = 60_000;
  const at = (minutes: number): string => new Date(Date.parse(AT) + minutes * minute).toISOString();
  const minutesOf = (state: LoopState, now: number): number =>
    (spentMs(rowOf({ ...SHOWN, state, status: state.status, live: true }), Date.parse(at(now))) ?? 0) / minute;
  assert.equal(minutesOf(STATE, 30), 30, 'control');
  const resumed: LoopState = { ...STATE, stoppedMs: 480 * minute, stoppedUntil: at(500) };
  assert.equal(minutesOf(resumed, 510), 30);
  const paused: LoopState = {
    ...resumed,
    status: 'paused',
    paused: { reason: 'operator', since: at(505), message: '', resumesAt: null },
  };
  assert.deepEqual([minutesOf(paused, 510), minutesOf(paused, 900)], [25, 25]);
  for (const state of [STATE, resumed, paused])
    assert.equal(minutesOf(state, 900) * minute, timeSpent(state, at(900)), 'as the engine counts');
});

test('of a long past, only the newest iterations have details, and all have outcome and figures', (t) => {
  const project = emptyFolder(t);
  const files = loopFiles(project, null, { XDG_STATE_HOME: project });
  mkdirSync(files.runtimeDir, { recursive: true });
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const lines = Array.from({ length: 130 }, (_, index) => index + 1).flatMap((iteration) => {
    const [begun, over] = [at(iteration * 10), at(iteration * 10 + 5)];
    const agent = { model: secret, costUsd: 1, usage: { inputTokens: 5 } };
    const ended = { iteration, idleIterations: 0, startedAt: begun, endedAt: over, durationMs: 5000, toolCalls: 2 };
    return [
      { type: 'wait.started', at: at(iteration * 10 - 3), why: 'pace', until: null },
      { type: 'iteration.started', at: begun, begins: iteration },
      { type: 'agent.text', at: begun, text: `Word ${iteration}` },
      { type: 'iteration.ended', at: over, ...ended, decision: `${project}/x`, claimed: true, agent },
      { type: 'completion.rejected', at: over, iteration, reasons: ['tests: exit code 1'] },
    ].map(({ type, ...rest }) => JSON.stringify({ v: 1, type, ...rest, loopId: 'loop-1' }));
  });
  writeFileSync(files.events, `${lines.join('\n')}\n`);
  const { iterations, waits } = readHistory(files, 'loop-1').history;
  assert.deepEqual(
    iterations.map(({ number }) => number),
    Array.from({ length: 130 }, (_, index) => index + 1),
  );
  for (const each of iterations) {
    const isBrief = each.number <= 30;
    assert.deepEqual([each.brief, each.said], isBrief ? [true, ''] : [undefined, `Word ${each.number}`]);
    const { outcome, costUsd, tokens, toolCalls, durationMs, startedAt, decision, model } = each;
    const figures = [outcome, costUsd, tokens, toolCalls, durationMs, startedAt, decision, model];
    assert.deepEqual(figures, ['rejected', 1, 5, 2, 5000, at(each.number * 10), 'x', '***']);
  }
  assert.deepEqual(new Set(waits.map(({ from, to }) => Date.parse(to ?? '') - Date.parse(from))), new Set([3000]));
});

type Event = readonly [type: string, more?: object];

/** Early iterations that did not go as most do, of a runner and of a session's hooks; `end` is the record of one. */
const ODD: readonly ((number: number, end: Event) => readonly Event[])[] = [
  (number, end) => [
    ['iteration.started', { begins: number }],
    ['agent.text', { text: 'I begin.' }],
    ['tool.started', { id: 'a', tool: 'Bash', about: 'ls' }],
    ['tool.ended', { id: 'a', tool: 'Bash', about: 'ls', outcome: 'ok', durationMs: 1 }],
    ['loop.resumed', { limits: {} }],
    ['iteration.started', { begins: number }],
    ['agent.usage', { context: 5, window: 10 }],
    ['check.ran', { name: 'tests', run: 'true', outcome: 'failed' }],
    end,
  ],
  (number, end) => [
    ['wait.started', { why: 'pace', until: null }],
    ['iteration.started', { begins: number }],
    ['agent.text', { text: 'I begin.' }],
    ['agent.ended', { outcome: 'failed', message: 'overloaded' }],
    ['wait.started', { why: 'retry', until: null }],
    ['iteration.started', { begins: number }],
    ['agent.text', { text: 'I go on.' }],
    ['agent.ended', { outcome: 'ok' }],
    ['verification.started', {}],
    ['check.started', { name: 'tests' }],
    ['check.ran', { name: 'tests', run: 'true', outcome: 'ok' }],
    end,
  ],
  (_, end) => [
    ['tool.asked', { callId: 'a', tool: 'Bash', about: 'ls' }],
    ['wait.started', { why: 'limit', until: null }],
    ['tool.done', { callId: 'a', tool: 'Bash' }],
    ['tool.asked', { callId: 'b', tool: 'Bash', about: 'ls' }],
    ['check.ran', { name: 'tests', run: 'true', outcome: 'ok' }],
    end,
  ],
  (_, end) => [
    ['tool.asked', { callId: 'a', tool: 'Bash', about: 'ls' }],
    ['tool.done', { callId: 'a', tool: 'Bash' }],
    ['loop.started', { limits: {} }],
    ['wait.started', { why: 'limit', until: null }],
    end,
  ],
];

test('of a long past, killed and retried iterations, waits and events are as in the whole history', (t) => {
  const project = emptyFolder(t);
  const files = loopFiles(project, null, { XDG_STATE_HOME: project });
  mkdirSync(files.runtimeDir, { recursive: true });
  let second = 0;
  const at = (): string => new Date(Date.UTC(2026, 0, 1) + second * 10_000).toISOString();
  const lines = Array.from({ length: 130 }, (_, index) => index + 1).flatMap((iteration) => {
    const startedAt = at();
    const end = ['iteration.ended', { iteration, idleIterations: 0, startedAt, durationMs: 5 }] as const;
    const plain: readonly Event[] = [['iteration.started', { begins: iteration }], ['agent.text', { text: 'x' }], end];
    const events = iteration <= 30 ? (ODD[iteration % 5]?.(iteration, end) ?? plain) : plain;
    return [...events, ['iteration.completed', { iteration }] as const].map(([type, more]) => {
      second += 1;
      return JSON.stringify({ v: 1, type, at: at(), ...more, loopId: 'loop-1' });
    });
  });
  writeFileSync(files.events, `${lines.join('\n')}\n`);
  const whole = new LoopHistory();
  for (const line of lines) whole.take(JSON.parse(line) as Record<string, unknown>);
  const { history } = readHistory(files, 'loop-1');
  const withoutWords = ({ iterations }: LoopHistory): unknown[] =>
    iterations.map(({ brief: _, said, calls, error, toolCalls, ...rest }) =>
      rest.number <= 30 ? rest : { ...rest, said, calls, error, toolCalls },
    );
  assert.ok(
    whole.iterations.some(({ outcome, number }) => outcome === 'interrupted' && number < 30),
    'control',
  );
  assert.deepEqual(withoutWords(history), withoutWords(whole));
  assert.deepEqual(
    history.iterations.filter(({ brief }) => brief === true).map(({ number }) => number),
    whole.iterations.filter(({ number }) => number <= 30).map(({ number }) => number),
  );
  assert.deepEqual(history.waits, whole.waits);
  assert.ok(whole.waits.every(({ from, to }) => to !== null && from < to));
  assert.deepEqual(history.decisions, whole.decisions);
  assert.deepEqual(history.checks(), whole.checks());
});
