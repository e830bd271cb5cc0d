import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopHistory } from '../../../src/web/model/loop-history.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');

/** The history of these events, one second apart. */
function historyOf(...events: readonly (readonly [type: string, more?: object])[]): LoopHistory {
  const history = new LoopHistory();
  for (const [index, [type, more]] of events.entries()) {
    history.take({ type, at: new Date(START + index * 1_000).toISOString(), loopId: 'l', iteration: 0, ...more });
  }
  return history;
}

const ended = (iteration: number, more: object = {}): [string, object] => [
  'iteration.ended',
  {
    iteration,
    kind: 'working',
    durationMs: 5,
    claimed: false,
    decision: 'running',
    toolCalls: 0,
    deniedCalls: 0,
    ...more,
  },
];

test('joins the calls that hooks and runner record for one iteration by their id', () => {
  const { iterations } = historyOf(
    ['tool.started', { id: 'a', tool: 'Bash', about: 'ls', nested: false }],
    ['tool.asked', { callId: 'a', tool: 'Bash', about: 'ls' }],
    ['tool.done', { callId: 'a', tool: 'Bash' }],
    ['tool.ended', { id: 'a', tool: 'Bash', about: 'ls', nested: false, outcome: 'ok', durationMs: 7 }],
    ['tool.denied', { callId: 'b', tool: 'Bash', about: 'git push', rule: 'git\\s+push', reason: 'no pushes' }],
    ['tool.ended', { id: 'b', tool: 'Bash', about: 'git push', nested: true, outcome: 'failed', durationMs: 1 }],
    ['tool.asked', { callId: 'c', tool: 'Read', about: 'x', agentId: 'sub' }],
    ended(1, { toolCalls: 3, deniedCalls: 1 }),
  );
  const [iteration] = iterations;
  assert.deepEqual(
    iteration?.calls.map(({ id, outcome, durationMs, reason, nested }) => [id, outcome, durationMs, reason, nested]),
    [
      ['a', 'ok', 7, undefined, undefined],
      ['b', 'denied', 1, 'no pushes', undefined],
      ['c', 'running', null, undefined, true],
    ],
  );
  assert.deepEqual([iteration?.toolCalls, iteration?.denied], [3, 1]);
});

test('a call beyond those that are kept one by one is counted once', () => {
  const calls = Array.from({ length: 1_002 }, (_, index) => `call-${index}`).flatMap((id): [string, object][] => [
    ['tool.started', { id, tool: 'Bash', about: 'ls', nested: false }],
    ['tool.asked', { callId: id, tool: 'Bash', about: 'ls' }],
    ['tool.done', { callId: id, tool: 'Bash' }],
    ['tool.ended', { id, tool: 'Bash', about: 'ls', nested: false, outcome: 'ok', durationMs: 7 }],
  ]);
  const [iteration] = historyOf(...calls, ended(1, { toolCalls: 1_002 })).iterations;
  assert.deepEqual([iteration?.calls.length, iteration?.toolCalls], [1_000, 1_002]);
});

test('checks belong to the iteration whose claim they judged, and one that never ran is named', () => {
  const failed = { name: 'tests', run: 'npm test', outcome: 'failed', tail: 'exit code 1.\n# fail 1\nraw' };
  // The second reason has no result of its own, so that it is shown in full.
  const reasons = ['tests: exit code 1.\n# fail 1\nraw', 'integration: two files conflict\na.ts'];
  const history = historyOf(
    [
      'loop.started',
      {
        maxIterations: 9,
        limits: { maxCostUsd: 5 },
        checks: [
          { name: 'tests', run: 'npm test' },
          { name: 'types', run: 'tsc' },
        ],
      },
    ],
    ['agent.text', { text: 'done' }],
    ended(1, { claimed: true }),
    ['completion.claimed'],
    ['check.ran', failed],
    ['completion.rejected', { reasons }],
    ['agent.text', { text: 'now' }],
    ended(2, { claimed: true }),
    ['check.ran', { ...failed, outcome: 'ok', tail: 'exit code 0.' }],
    ['loop.ended', { status: 'complete', message: 'complete', verified: true }],
  );
  assert.deepEqual(
    history.iterations.map(({ outcome, reasons, said, checks }) => [outcome, reasons, said, checks.length]),
    [
      ['rejected', ['tests: exit code 1.', reasons[1]], 'done', 1],
      ['complete', [], 'now', 1],
    ],
  );
  assert.equal(JSON.stringify(history).split('# fail 1').length - 1, 1, 'the output of a check is kept once');
  const rejected = history.decisions.find(({ type }) => type === 'completion.rejected');
  assert.equal(rejected?.text, 'tests: exit code 1.; integration: two files conflict');
  assert.deepEqual(
    history
      .checks()
      .map(({ name, runs, firstFailed, firstPassed, last }) => [name, runs, firstFailed, firstPassed, last]),
    [
      ['tests', 2, 1, 2, 'ok'],
      ['types', 0, null, null, null],
    ],
  );
  assert.deepEqual(history.limits({ maxIterations: 2, maxCostUsd: 1 }), [
    { name: 'iterations', unit: 'count', limit: 9, used: 2 },
    { name: 'cost', unit: 'usd', limit: 5, used: 1 },
  ]);
});

test('a wait ends with the next event, and one that is announced twice is one', () => {
  const { waits } = historyOf(
    ended(1, { kind: 'idle' }),
    ['wait.started', { why: 'idle', until: 'T1' }],
    ['wait.started', { why: 'idle', until: 'T1' }],
    ['operator.steer', { id: 's', text: 'hello' }],
    ['idle.ended', { why: 'message' }],
    ['loop.paused', { reason: 'operator' }],
    ['loop.resumed', { why: 'operator' }],
  );
  assert.deepEqual(
    waits.map(({ from, to, why }) => [from.slice(17, 19), to?.slice(17, 19), why]),
    [
      ['01', '04', 'idle'],
      ['05', '06', 'paused by you'],
    ],
  );
});

test('a pause begins when the agent at work has ended its iteration, and nothing works during it', () => {
  const { iterations, waits } = historyOf(
    ['iteration.started', { begins: 1 }],
    ['loop.paused', { reason: 'operator' }],
    ['agent.after-iteration', { next: 'pause' }],
    ['agent.text', { text: 'the last words' }],
    ended(1),
    ['agent.notice', { message: 'The loop is paused.' }],
    ['agent.after-iteration', { next: 'go-on' }],
    ['loop.resumed', { why: 'operator' }],
    ['iteration.started', { begins: 2 }],
  );
  assert.deepEqual(
    waits.map(({ from, to, why }) => [from.slice(17, 19), to?.slice(17, 19), why]),
    [['04', '07', 'paused by you']],
  );
  assert.deepEqual(
    iterations.map(({ number, said, startedAt }) => [number, said, startedAt.slice(17, 19)]),
    [
      [1, 'the last words', '00'],
      [2, '', '08'],
    ],
  );
});

test('an iteration that a killed process left open ends before the one that repeats it', () => {
  const { iterations, waits } = historyOf(
    ['loop.started', { limits: {} }],
    ended(1),
    ['iteration.started', { begins: 2 }],
    ['tool.started', { id: 'a', tool: 'Bash', about: 'ls' }],
    ['loop.paused', { reason: 'operator' }],
    ['loop.resumed', { why: 'operator' }],
    ['agent.text', { text: 'still at it' }],
    ['loop.resumed', { limits: {} }],
    ['iteration.started', { begins: 2 }],
    ['agent.text', { text: 'once more' }],
    ended(2),
  );
  assert.deepEqual(
    iterations.map(({ number, outcome, said, durationMs }) => [number, outcome, said, durationMs]),
    [
      [1, 'worked', '', 5],
      [2, 'interrupted', 'still at it', 4_000],
      [2, 'worked', 'once more', 5],
    ],
  );
  assert.deepEqual(
    waits.map(({ from, to }) => [from.slice(17, 19), to?.slice(17, 19)]),
    [['04', '05']],
  );
});

test('shows steering with the iteration that it was delivered to', () => {
  const { iterations } = historyOf(
    ['operator.steer', { id: 's', text: 'Mind the tests' }],
    ['agent.text', { text: 'one' }],
    ended(1),
    ['steering.delivered', { ids: ['s', 'unknown'] }],
    ended(2),
  );
  assert.deepEqual(
    iterations.map(({ steering }) => steering),
    [[], ['Mind the tests']],
  );
});

test('a decision without a message of its own is described in words', () => {
  const { decisions } = historyOf([
    'idle.started',
    { why: 'idle', consecutiveIdle: 2, delayMs: 90_000, sandboxOn: true },
  ]);
  assert.deepEqual(
    decisions.map(({ text }) => text),
    ['idle, nothing to do 2 times in a row, waits 1m 30s, sandbox on: true'],
  );
});

test('events of any shape make a history without an error', () => {
  const odd = [null, 'x', 7, [], {}, [null], { text: 1 }];
  for (const value of odd) {
    const more = Object.fromEntries(
      ['text', 'texts', 'ids', 'callId', 'agent', 'reasons', 'checks', 'limits', 'durationMs', 'why'].map((key) => [
        key,
        value,
      ]),
    );
    const types = [
      'tool.asked',
      'tool.ended',
      'agent.text',
      'iteration.ended',
      'check.ran',
      'loop.started',
      'steering.delivered',
      'steering.sent',
      'wait.started',
      'completion.rejected',
      'surprise',
    ];
    const history = historyOf(...types.map((type): [string, object] => [type, more]));
    assert.doesNotThrow(() => JSON.stringify([history.iterations, history.checks(), history.limits({})]));
  }
});

test('the signal nearest to its threshold is the level of the circuit breaker', () => {
  const signals = { findings: 0, noProgress: 0, sameReply: 0, sameError: 0, denials: 0, tdd: 0 };
  const { iterations } = historyOf(
    ['loop.started', { limits: {}, breaker: { ...signals, findings: 6, noProgress: 3 } }],
    ended(1, { breaker: { ...signals, findings: 3, noProgress: 2, tdd: 9 } }),
    ended(2),
  );
  assert.deepEqual(
    iterations.map(({ breaker }) => breaker),
    [{ signal: 'noProgress', repeats: 2, threshold: 3 }, null],
  );
});

test('cuts texts, lists and depths that no version of this program writes', () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  const long = 'x'.repeat(10 * 1024 * 1024);
  const { iterations } = historyOf(
    ['agent.text', { text: long, deep }],
    ['check.ran', { name: 'tests', run: long, outcome: 'failed', tail: long }],
    ['steering.sent', { texts: Array.from({ length: 100_000 }, (_, index) => `text ${index}`) }],
    ended(1),
  );
  assert.ok(JSON.stringify(iterations).length < 300_000);
  assert.equal(iterations[0]?.steering.length, 2_000);
});

test('masks every text for the reader, also those made of several parts', () => {
  const history = new LoopHistory((text) => text.replaceAll('/home/me', '~').replaceAll('path: ~', 'path: HOME'));
  history.take({ type: 'agent.text', at: 'x', loopId: 'l', iteration: 0, text: 'see /home/me/a' });
  history.take({ type: 'notice.change', at: 'x', loopId: 'l', iteration: 0, path: '/home/me/b' });
  assert.equal(history.iterations[0]?.said, 'see ~/a');
  assert.equal(history.decisions[0]?.text, 'path: HOME/b');
});
