import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adoptFourKeys, bindSession, initialState, resumeState } from '../../../src/engine/initial-state.ts';
import { CLOSED_BREAKER } from '../../../src/engine/policy/breaker.ts';
import { NOT_IDLE } from '../../../src/engine/policy/loop-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { validateLoopState } from '../../../src/state/loop-files.ts';
import { RalphError } from '../../../src/text/message.ts';
import {
  after,
  at,
  awaitingConsent,
  ended,
  paused,
  policy,
  running,
  saying,
  turnEnded,
  verifying,
  waiting,
} from './support/loop.ts';

const NEW = { loopId: 'l', name: 'n', mode: 'router', taskPath: 'task.md', maxIterations: 7 } as const;
const CLIENT = { sessionId: 's1', clientPid: 10, clientStartedAt: 't1' } as const;

describe('a new loop', () => {
  test('has finished no iteration, is bound to no session and waits for its first prompt', () => {
    const state = initialState({ ...NEW, contractHash: 'h', at: at(0), consented: true });
    assert.equal(validateLoopState(state), null);
    const { iteration, startedAt, lastRunAt, lastFindingsCount, status, turn, epoch } = state;
    assert.deepEqual(
      { iteration, startedAt, lastRunAt, lastFindingsCount, status, turn, epoch },
      {
        iteration: 0,
        startedAt: at(0),
        lastRunAt: at(0),
        lastFindingsCount: null,
        status: 'running',
        turn: 'first',
        epoch: 0,
      },
    );
    const { loopId, name, mode, taskPath, maxIterations, contractHash } = state;
    assert.deepEqual({ loopId, name, mode, taskPath, maxIterations, contractHash }, { ...NEW, contractHash: 'h' });
    assert.deepEqual([state.sessionId, state.clientPid, state.clientStartedAt], [null, null, null]);
    assert.deepEqual([state.breaker, state.idle, state.stopRequested], [CLOSED_BREAKER, NOT_IDLE, false]);
    assert.deepEqual([state.steering, state.notices.rejection, state.notices.warnings], [[], [], []]);
    assert.deepEqual(
      [state.warnedBudgets, state.announced, state.waitedOut, state.marks.lastMessageIds],
      [[], [], [], []],
    );
    assert.deepEqual(state.lastDecision, { at: at(0), kind: 'started', detail: '' });
  });

  test('requested by an agent awaits consent', () => {
    assert.equal(initialState({ ...NEW, contractHash: 'h', at: at(0), consented: false }).status, 'awaiting-consent');
  });
});

describe('a four-key file', () => {
  const file = { iteration: 4, startedAt: at(0), lastRunAt: at(50), lastFindingsCount: 2 } as const;

  test('is a loop with its counters and defaults, and no contract', () => {
    const state = adoptFourKeys(file, NEW);
    assert.equal(validateLoopState(state), null);
    const { iteration, startedAt, lastRunAt, lastFindingsCount, contractHash, turn, status } = state;
    assert.deepEqual(
      { iteration, startedAt, lastRunAt, lastFindingsCount, contractHash, turn, status },
      { ...file, contractHash: null, turn: 'agent', status: 'running' },
    );
  });

  test('compares its findings count with the next one', () => {
    const strict = policy({ breaker: { ...policy().breaker, findings: 1 } });
    const next = (n: number) =>
      after(adoptFourKeys(file, NEW), strict, turnEnded(`RALPH_ITERATION_COMPLETE: ${n} findings remain`));
    assert.equal(next(2).state.status, 'ended');
    assert.equal(next(1).state.status, 'running');
  });

  test('with an unknown findings count compares nothing', () => {
    for (const lastFindingsCount of ['unknown', null] as const) {
      const state = adoptFourKeys({ ...file, lastFindingsCount }, NEW);
      assert.deepEqual([state.lastFindingsCount, state.breaker], [null, CLOSED_BREAKER]);
    }
  });

  test('starts the current iteration at its last run, not at its start', () => {
    const { effects } = after(adoptFourKeys(file, NEW), policy(), turnEnded('Work.', { at: at(60) }));
    const record = effects.find((effect) => effect.type === 'record-iteration')?.record;
    assert.deepEqual([record?.startedAt, record?.durationMs], [at(50), 10_000]);
    assert.deepEqual(adoptFourKeys(file, NEW).lastDecision, { at: at(50), kind: 'started', detail: 'adopted' });
    assert.equal(saying(effects, 'iteration.completed')['iteration'], 5);
  });
});

describe('a session that a loop is bound to', () => {
  const marks = {
    transcriptPath: '/t',
    transcriptBytes: 9,
    subagentBytes: { a: 1 },
    lastMessageIds: ['m'],
    callsBytes: 5,
  };
  const usage = { ...running().usage, costUsd: 1, costBaseUsd: 0 };
  const bound = { ...running({ marks, usage }), ...CLIENT };

  test('is named in the state', () => {
    const { sessionId, clientPid, clientStartedAt } = bindSession(running(), CLIENT);
    assert.deepEqual({ sessionId, clientPid, clientStartedAt }, CLIENT);
  });

  test('changes nothing when it is bound again', () => assert.equal(bindSession(bound, CLIENT), bound));

  test('that changed in the same client is read from its beginning, and so is its cost', () => {
    const next = bindSession(bound, { ...CLIENT, sessionId: 's2' });
    assert.deepEqual(next.marks, {
      transcriptPath: null,
      transcriptBytes: 0,
      subagentBytes: {},
      lastMessageIds: [],
      callsBytes: 5,
    });
    assert.deepEqual([next.sessionId, next.usage], ['s2', { ...usage, costBaseUsd: null }]);
  });

  test('that another client resumed is read on, and its cost adds up', () => {
    const next = bindSession(bound, { ...CLIENT, clientPid: 11, clientStartedAt: 't2' });
    assert.deepEqual([next.clientPid, next.clientStartedAt, next.marks, next.usage], [11, 't2', marks, usage]);
  });

  test('of a new client has its own cost', () => {
    const next = bindSession(bound, { sessionId: 's2', clientPid: 11, clientStartedAt: 't2' });
    assert.deepEqual(next.usage, { ...usage, costBaseUsd: null });
  });

  test('is another one if the process id was reused, by its start time', () => {
    const next = bindSession(bound, { ...CLIENT, clientStartedAt: 't2' });
    assert.equal(next.clientStartedAt, 't2');
    const other = bindSession(bound, { sessionId: 's2', clientPid: 10, clientStartedAt: 't2' });
    assert.equal(other.usage.costBaseUsd, null);
    const sameTime = bindSession(bound, { sessionId: 's2', clientPid: 11, clientStartedAt: 't1' });
    assert.equal(sameTime.usage.costBaseUsd, null);
  });

  test('leaves a state that can be read back', () => {
    for (const state of [running(), waiting(), verifying(), paused(), awaitingConsent(), ended()]) {
      assert.equal(validateLoopState(bindSession<LoopState>(state, CLIENT)), null);
    }
  });
});

describe('a loop that is resumed in a new client', () => {
  const worn = {
    ...CLIENT,
    epoch: 3,
    iteration: 9,
    idleIterations: 4,
    breaker: { ...CLOSED_BREAKER, denials: 2 },
    gateFailures: { value: 'x', repeats: 2 },
    idle: { since: at(0), consecutive: 2, lastCallAt: at(1) },
    stopRequested: true,
    turn: 'user',
    lastTurn: { promptId: 'p', text: 't', transcriptMark: '1' },
    promptId: 'p',
    announced: ['k'],
    waitedOut: ['t'],
    inFlight: { notices: running().notices, steering: [] },
    usage: { ...running().usage, costUsd: 1, costBaseUsd: 0 },
    marks: { transcriptPath: '/t', transcriptBytes: 9, subagentBytes: { a: 1 }, lastMessageIds: ['m'], callsBytes: 5 },
    notices: { rejection: ['r'], misplacedSignal: null, warnings: [] },
    steering: [{ id: 'a', at: at(1), text: 'Do a.', delivery: 'next' }],
    warnedBudgets: ['max_cost'],
  } as const satisfies Partial<LoopState>;

  test('keeps its counters, its usage, its notices and its steering', () => {
    const { iteration, idleIterations, usage, notices, steering, warnedBudgets } = resumeState(
      running(worn as never),
      at(99),
      true,
    );
    assert.deepEqual(
      { iteration, idleIterations, usage, notices, steering, warnedBudgets },
      {
        iteration: 9,
        idleIterations: 4,
        usage: { ...worn.usage, costBaseUsd: null },
        notices: worn.notices,
        steering: worn.steering,
        warnedBudgets: ['max_cost'],
      },
    );
  });

  test('resets its client, its streaks and pending requests', () => {
    const state = resumeState(running(worn as never), at(99), true);
    assert.deepEqual([state.sessionId, state.clientPid, state.clientStartedAt], [null, null, null]);
    assert.deepEqual(
      [state.breaker, state.idle, state.gateFailures],
      [CLOSED_BREAKER, NOT_IDLE, { value: null, repeats: 0 }],
    );
    assert.deepEqual([state.turn, state.stopRequested, state.lastTurn, state.promptId], ['first', false, null, null]);
    assert.deepEqual([state.announced, state.waitedOut, state.inFlight], [[], [], null]);
    assert.deepEqual(state.marks, {
      transcriptPath: null,
      transcriptBytes: 0,
      subagentBytes: {},
      lastMessageIds: [],
      callsBytes: 5,
    });
    assert.deepEqual(state.lastDecision, { at: at(99), kind: 'started', detail: 'resumed' });
  });

  test('forgets who asked for its stop and the limits of the account, and accepts what was not priced', () => {
    const limits = [{ name: 'five_hour', used: 1, resetsAt: null }] as const;
    const usage = { ...worn.usage, unpricedRuns: 2 };
    const limited = running({ ...worn, stopFlag: true, pauseRequested: true, limits: [...limits], usage } as never);
    const state = resumeState(limited, at(99), true);
    assert.deepEqual([state.stopFlag, state.pauseRequested, state.limits], [false, false, []]);
    assert.equal(state.usage.unpricedAccepted, 2);
    const other = resumeState(running(worn as never), at(99), true);
    assert.deepEqual(
      ['limits' in other, 'unpricedAccepted' in other.usage],
      [false, false],
      'control: neither is known',
    );
  });

  test('is running whatever it was before, with a newer epoch', () => {
    for (const before of [running(), waiting(), verifying(), paused(), awaitingConsent(), ended()]) {
      const state = resumeState({ ...before, epoch: 3 }, at(99), true);
      assert.deepEqual([state.status, state.epoch, validateLoopState(state)], ['running', 4, null]);
      for (const part of ['waiting', 'verifying', 'paused', 'ended']) assert.equal(part in state, false);
    }
  });

  test('awaits consent in any case if it is not the user who resumes it', () => {
    for (const before of [running(), waiting(), verifying(), paused(), awaitingConsent(), ended()]) {
      const state = resumeState(before, at(99), false);
      assert.deepEqual([state.status, validateLoopState(state)], ['awaiting-consent', null]);
      for (const part of ['waiting', 'verifying', 'paused', 'ended']) assert.equal(part in state, false);
    }
  });
});

describe('the error of this program', () => {
  test('has a stable code, a name and its message', () => {
    const error = new RalphError('usage', 'no such command');
    assert.deepEqual(
      [error.code, error.name, error.message, 'cause' in error],
      ['usage', 'RalphError', 'no such command', false],
    );
  });
  test('keeps its cause', () => {
    const cause = new Error('EACCES');
    assert.equal(new RalphError('state-io', 'cannot write', cause).cause, cause);
  });
});
