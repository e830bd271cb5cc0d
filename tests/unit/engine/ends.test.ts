import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adoptFourKeys, initialState, resumeState } from '../../../src/engine/initial-state.ts';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  effect,
  ended,
  IDLE,
  IDLE_POLICY,
  policy,
  recorded,
  running,
  SIGNAL,
  saying,
  step,
  turnEnded,
} from './support/loop.ts';

const as = (state: LoopState) => (state.status === 'ended' ? state.ended.as : state.status);
const NEW_LOOP = { loopId: 'loop-1', name: null, mode: 'hook', taskPath: 'PROMPT.md', maxIterations: 25 } as const;

describe('max iterations', () => {
  test('of 25 gives the agent 25 turns, the first included, and 24 prompts', () => {
    let state: LoopState = initialState({ ...NEW_LOOP, contractHash: null, at: at(0), consented: true });
    let turns = 0;
    let prompts = 0;
    while (state.status !== 'ended' && turns < 1_000) {
      turns++;
      const next = transition(state, turnEnded(`Turn ${turns}.`), policy());
      if (step(next.effects)?.type === 'prompt') prompts++;
      state = next.state;
    }
    assert.deepEqual([turns, prompts, as(state), state.iteration], [25, 24, 'max-iterations', 25]);
  });

  test('of 1 gives the agent one turn and no prompt', () => {
    const { state, effects } = after(running({ maxIterations: 1 }), policy(), turnEnded('Work.'));
    assert.deepEqual([as(state), step(effects)?.type], ['max-iterations', 'allow']);
    assert.match(
      state.status === 'ended' ? state.ended.message : '',
      /^Stopped after 1 iteration, the limit, without completion\. Grant more: ralph-loop resume --max-iterations 2\.$/,
    );
  });

  test('names a larger limit that the next command takes, and a new loop where none is larger', () => {
    const said = (maxIterations: number, tracksProgress: boolean): string => {
      const state = running({ iteration: maxIterations - 1, maxIterations, progressed: true });
      const ended = after(state, policy({ pace: { ...policy().pace, tracksProgress } }), turnEnded('Work.')).state;
      return ended.status === 'ended' ? ended.ended.message : '';
    };
    assert.match(said(25, false), /Grant more: ralph-loop resume --max-iterations 50\.$/);
    assert.match(said(60, false), / --max-iterations 100\.$/);
    assert.match(said(40, true), / --max-iterations 50\.$/);
    assert.match(said(50, true), /No larger limit is allowed\. Start over: ralph-loop start --fresh\.$/);
  });

  test('ends a four-key file with 24 of 25 at its next Stop', () => {
    const file = { iteration: 24, startedAt: at(0), lastRunAt: at(50), lastFindingsCount: 'unknown' } as const;
    const { state } = after(adoptFourKeys(file, NEW_LOOP), policy(), turnEnded('Work.'));
    assert.deepEqual([as(state), state.iteration], ['max-iterations', 25]);
  });

  test('lets a loop with 23 of 25 iterations in a four-key file continue', () => {
    const file = { iteration: 23, startedAt: at(0), lastRunAt: at(50), lastFindingsCount: 2 } as const;
    const { state } = after(adoptFourKeys(file, NEW_LOOP), policy(), turnEnded('Work.'));
    assert.deepEqual([as(state), state.iteration], ['running', 24]);
  });

  test('comes from the state, not from the policy', () => {
    const { state } = after(
      running({ maxIterations: 2, iteration: 1 }),
      policy({ maxIterations: 99 }),
      turnEnded('Work.'),
    );
    assert.equal(as(state), 'max-iterations');
  });

  test('does not count idle iterations', () => {
    const idle = policy({ idle: IDLE_POLICY });
    const { state } = after(running({ maxIterations: 2, iteration: 1, idleIterations: 50 }), idle, turnEnded(IDLE));
    assert.equal(as(state), 'waiting');
  });

  test('ends an idle loop that has already passed it', () => {
    const idle = policy({ idle: IDLE_POLICY });
    assert.equal(as(after(running({ maxIterations: 2, iteration: 2 }), idle, turnEnded(IDLE)).state), 'max-iterations');
  });
});

describe('max iterations without confirmed progress', () => {
  const pace = { delayMs: 0, iterationTimeoutMs: null, stopOnError: true, tracksProgress: true };
  const tracking = policy({ pace });
  const ends = (given: Policy, ...progress: ('yes' | 'no' | 'unknown')[]) => {
    const turns = progress.map((seen, index) => turnEnded(`Step ${index}.`, { progress: seen }));
    return after(running({ maxIterations: progress.length }), given, ...turns).state;
  };
  const message = (state: LoopState) => (state.status === 'ended' ? state.ended.message : '');

  test('is no-progress-exhaustion', () => {
    const state = ends(tracking, 'no', 'no');
    assert.equal(as(state), 'no-progress-exhaustion');
    assert.match(
      message(state),
      /^Stopped after 2 iterations, the limit, without completion and without confirmed progress\. G/,
    );
  });

  test('counts the iterations without known progress', () => {
    const state = ends(tracking, 'unknown', 'no', 'unknown');
    assert.equal(as(state), 'no-progress-exhaustion');
    assert.match(
      message(state),
      /without completion and without confirmed progress \(progress unknown in 2\)\. Grant more/,
    );
  });

  test('needs only one iteration with a change, anywhere', () => {
    for (const seen of [
      ['yes', 'no'],
      ['no', 'yes'],
      ['yes', 'unknown'],
    ] as const) {
      const state = ends(tracking, ...seen);
      assert.equal(as(state), 'max-iterations');
      assert.match(message(state), /the limit, without completion\. Grant more/);
    }
  });

  test('is max-iterations where progress is not tracked', () => {
    const state = ends(policy(), 'no', 'unknown');
    assert.equal(as(state), 'max-iterations');
    assert.ok(!('progressed' in state) && !('unknownProgress' in state));
  });

  test('counts a change of an idle iteration, but no idle iteration as unknown', () => {
    const idle = policy({ pace, idle: IDLE_POLICY });
    const changed = after(running(), idle, turnEnded(IDLE, { progress: 'yes' })).state;
    assert.deepEqual([changed.progressed, changed.unknownProgress], [true, 0]);
    const quiet = after(running(), idle, turnEnded(IDLE), turnEnded('Work.')).state;
    assert.deepEqual([quiet.progressed, quiet.unknownProgress], [false, 1]);
  });

  test('considers the iterations before a resume as well', () => {
    const before = after(running({ maxIterations: 2 }), tracking, turnEnded('Work.', { progress: 'yes' })).state;
    const resumed = resumeState(before, at(90), true);
    assert.equal(as(after(resumed, tracking, turnEnded('More.', { progress: 'no' })).state), 'max-iterations');
  });
});

describe('the first limit that applies names the end:', () => {
  const everything: Partial<Policy> = {
    idle: { ...IDLE_POLICY },
    breaker: { ...policy().breaker, sameReply: 1 },
    budget: { maxCostUsd: 1, maxTokens: 1, maxTimeMs: 1_000, warnAt: 0.8 },
  };
  const before = running({
    iteration: 24,
    breaker: after(running(), policy(), turnEnded('Again.')).state.breaker,
    idle: { since: at(-9_999), consecutive: 3, lastCallAt: at(0) },
  });
  const spent = { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const turn = (text: string) => turnEnded(text, { at: at(60), usage: spent, costUsd: 2 });

  test('a claim of completion comes before all of them', () => {
    const claim = after(before, policy(everything), turn(SIGNAL));
    assert.equal(as(claim.state), 'verifying');
    assert.equal(
      as(transition(claim.state, { type: 'verified', at: at(61), results: [] }, policy(everything)).state),
      'complete',
    );
  });
  test('the user’s stop', () => {
    assert.equal(as(after({ ...before, stopRequested: true }, policy(everything), turn('Again.')).state), 'stopped');
  });
  test('then max iterations', () =>
    assert.equal(as(after(before, policy(everything), turn('Again.')).state), 'max-iterations'));
  test('then the breaker', () => {
    assert.equal(as(after({ ...before, iteration: 3 }, policy(everything), turn('Again.')).state), 'circuit-open');
  });
  test('then the budget', () => {
    assert.equal(as(after({ ...before, iteration: 3 }, policy(everything), turn('Other.')).state), 'budget-exhausted');
    assert.equal(as(after({ ...before, iteration: 3 }, policy(everything), turn(IDLE)).state), 'budget-exhausted');
  });
  test('then idle', () => {
    const { budget: _budget, ...rest } = everything;
    assert.equal(as(after({ ...before, iteration: 3 }, policy(rest), turn(IDLE)).state), 'idle-limit');
  });
});

describe('an end', () => {
  test('is stored, archived, recorded and reported to the user', () => {
    const { state, effects } = after(running({ maxIterations: 1 }), policy(), turnEnded('Work.', { at: at(60) }));
    assert.ok(state.status === 'ended');
    const { message } = state.ended;
    const text = 'Stopped after 1 iteration, the limit, without completion.';
    const next = { command: 'resume', options: { 'max-iterations': '2' } };
    assert.deepEqual(state.ended, { at: at(60), as: 'max-iterations', message, text, next, verified: false });
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'allow', detail: 'max-iterations' });
    assert.deepEqual(effect(effects, 'archive'), {
      type: 'archive',
      as: 'max-iterations',
      message: text,
    });
    assert.deepEqual(effect(effects, 'allow'), { type: 'allow', message });
    assert.deepEqual(saying(effects, 'loop.ended'), {
      type: 'loop.ended',
      at: at(60),
      loopId: 'loop-1',
      iteration: 1,
      status: 'max-iterations',
      message,
      verified: false,
    });
    assert.equal(effect(effects, 'record-iteration').record.decision, 'max-iterations');
  });

  test('that was not archived is archived by the next process', () => {
    const before = ended();
    const events = [
      turnEnded('Work.'),
      { type: 'verified', at: at(99), results: [] },
      { type: 'operator', at: at(99), command: { kind: 'cancel' } },
      { type: 'time-passed', at: at(99), cause: 'elapsed', seen: null },
      { type: 'noticed', at: at(99), key: 'k', warning: 'w' },
    ] as const;
    for (const event of events) {
      const { state, effects } = transition(before, event, policy());
      assert.equal(state, before);
      assert.deepEqual(recorded(effects), ['loop.archived-late']);
      assert.equal(saying(effects, 'loop.archived-late')['status'], 'complete');
      assert.deepEqual(effect(effects, 'archive'), {
        type: 'archive',
        as: 'complete',
        message: 'complete.',
      });
      assert.deepEqual(step(effects), { type: 'allow', message: 'Complete after 3 iterations.' });
    }
  });

  test('follows a missing task file', () => {
    const { state, effects } = transition(
      running(),
      { type: 'task-missing', at: at(9), message: 'PROMPT.md is missing.' },
      policy(),
    );
    assert.deepEqual([as(state), step(effects)], ['error', { type: 'allow', message: 'PROMPT.md is missing.' }]);
  });
});

describe('the budget', () => {
  const cost = policy({ budget: { ...policy().budget, maxCostUsd: 10 } });

  test('ends the loop when a ceiling is reached, and names it', () => {
    const { state } = after(running(), cost, turnEnded('Work.', { costUsd: 10 }));
    assert.equal(as(state), 'budget-exhausted');
    assert.equal(
      state.status === 'ended' && state.ended.message,
      'Stopped: the budget max_cost is exhausted: $10.00 of $10.00. Grant more: ralph-loop resume --max-cost 20.',
    );
  });

  test('is silent below its warning', () => {
    const { state, effects } = after(running(), cost, turnEnded('Work.', { costUsd: 7.99 }));
    assert.deepEqual([state.warnedBudgets, recorded(effects)], [[], ['iteration.completed']]);
  });

  test('warns the user and the agent once when the warning is reached', () => {
    const first = after(running(), cost, turnEnded('Work.', { costUsd: 8 }));
    assert.deepEqual(first.state.warnedBudgets, ['max_cost']);
    const text = 'Budget max_cost: $8.00 of $10.00 used.';
    assert.deepEqual(effect(first.effects, 'prompt').notices.warnings, [text]);
    assert.deepEqual(effect(first.effects, 'notify'), { type: 'notify', message: text });
    const { budget, reading } = saying(first.effects, 'budget.warning');
    assert.deepEqual([budget, reading], ['max_cost', '$8.00 of $10.00']);
    const second = transition(first.state, turnEnded('More.', { costUsd: 9 }), cost);
    assert.deepEqual(recorded(second.effects), ['iteration.completed']);
    assert.deepEqual(effect(second.effects, 'prompt').notices.warnings, []);
  });

  test('warns of each ceiling separately and keeps other notices', () => {
    const both = policy({ budget: { ...policy().budget, maxCostUsd: 10, maxTokens: 100 } });
    const usage = { inputTokens: 85, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const before = running({
      warnedBudgets: ['max_cost'],
      notices: { rejection: [], misplacedSignal: null, warnings: ['x'] },
    });
    const { state, effects } = after(before, both, turnEnded('Work.', { costUsd: 9, usage }));
    assert.deepEqual(state.warnedBudgets, ['max_cost', 'max_tokens']);
    assert.deepEqual(effect(effects, 'prompt').notices.warnings, ['x', 'Budget max_tokens: 85 of 100 tokens used.']);
  });

  test('keeps a warning for the prompt after an idle wait', () => {
    const idle = { ...cost, idle: IDLE_POLICY };
    const { state, effects } = after(running(), idle, turnEnded(IDLE, { costUsd: 8 }));
    assert.deepEqual(state.notices.warnings, ['Budget max_cost: $8.00 of $10.00 used.']);
    assert.deepEqual(recorded(effects), ['iteration.idle', 'budget.warning']);
  });
});
