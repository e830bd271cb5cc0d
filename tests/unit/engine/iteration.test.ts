import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { transition } from '../../../src/engine/transition.ts';
import { digest } from '../../../src/text/digest.ts';
import { after, at, effect, policy, recorded, running, SIGNAL, saying, step, turnEnded } from './support/loop.ts';

const SILENT_LOOP = policy();

describe('an iteration', () => {
  test('is counted, and the task is sent back', () => {
    const { state, effects } = after(running({ iteration: 3 }), SILENT_LOOP, turnEnded('Work.', { at: at(60) }));
    assert.deepEqual([state.iteration, state.status, state.turn, state.lastRunAt], [4, 'running', 'agent', at(60)]);
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'prompt', detail: 'next iteration' });
    assert.equal(step(effects)?.type, 'prompt');
  });

  test('is recorded from the previous decision to its end', () => {
    const before = running({ iteration: 3, lastDecision: { at: at(20), kind: 'prompt', detail: '' } });
    const usage = { inputTokens: 1, outputTokens: 7, cacheReadTokens: 2, cacheWriteTokens: 3 };
    const turn = turnEnded('RALPH_ITERATION_COMPLETE: 2 findings remain\n<!-- ralph:state busy -->', {
      at: at(60),
      toolCalls: 5,
      deniedCalls: 2,
      usage,
    });
    const { state, effects } = after(before, SILENT_LOOP, turn);
    assert.deepEqual(effect(effects, 'record-iteration').record, {
      loopId: 'loop-1',
      iteration: 4,
      idleIterations: 0,
      kind: 'working',
      startedAt: at(20),
      endedAt: at(60),
      durationMs: 40_000,
      findings: 2,
      states: ['busy'],
      claimed: false,
      toolCalls: 5,
      deniedCalls: 2,
      outputTokens: 7,
      decision: 'running',
      breaker: { findings: 0, noProgress: 0, sameReply: 0, sameError: 0, denials: 0, tdd: 0 },
    });
    assert.deepEqual(saying(effects, 'iteration.completed'), {
      type: 'iteration.completed',
      at: at(60),
      loopId: 'loop-1',
      iteration: 4,
      findings: 2,
      states: ['busy'],
    });
    assert.equal(state.lastFindingsCount, 2);
    assert.equal(state.usage.outputTokens, 7);
  });

  test('is recorded from the start if no decision is known', () => {
    const { effects } = after(running({ lastDecision: null }), SILENT_LOOP, turnEnded('Work.', { at: at(60) }));
    const { startedAt, durationMs, outputTokens } = effect(effects, 'record-iteration').record;
    assert.deepEqual([startedAt, durationMs, outputTokens], [at(0), 60_000, null]);
  });

  test('that named no state leaves the key out', () => {
    const { effects } = after(running(), SILENT_LOOP, turnEnded('Work.'));
    assert.equal('states' in saying(effects, 'iteration.completed'), false);
  });

  test('that failed is recorded as failed, with its error', () => {
    const { effects } = after(running(), SILENT_LOOP, turnEnded('<!-- ralph:state busy -->', { error: 'timed out' }));
    assert.deepEqual(recorded(effects), ['iteration.failed']);
    const { error, states, findings } = saying(effects, 'iteration.failed');
    assert.deepEqual([error, states, findings], ['timed out', ['busy'], null]);
  });

  test('without a findings count keeps the last one', () => {
    const { state } = after(running({ lastFindingsCount: 4 }), SILENT_LOOP, turnEnded('Work.'));
    assert.equal(state.lastFindingsCount, 4);
  });

  test('keeps the last known fingerprint of the project', () => {
    const marked = after(running(), SILENT_LOOP, turnEnded('Work.', { projectMark: 'abc' }));
    assert.equal(marked.state.projectMark, 'abc');
    assert.equal(transition(marked.state, turnEnded('Work.'), SILENT_LOOP).state.projectMark, 'abc');
  });

  test('counts after a turn that was let go for background work', () => {
    assert.equal(after(running({ turn: 'rest' }), SILENT_LOOP, turnEnded('Work.')).state.iteration, 1);
  });

  test('counts as the first one of the loop', () => {
    assert.equal(after(running({ turn: 'first' }), SILENT_LOOP, turnEnded('Work.')).state.iteration, 1);
  });
});

describe('the same delivery', () => {
  const turn = turnEnded('Work.', { promptId: 'p1', transcriptMark: '100', usage: null });

  test('counts once, and the second time changes and prints nothing', () => {
    const first = transition(running(), turn, SILENT_LOOP);
    const second = transition(first.state, { ...turn, at: at(61) }, SILENT_LOOP);
    assert.equal(second.state, first.state);
    assert.deepEqual(second.effects, [{ type: 'ignore' }]);
  });

  test('is remembered by a digest, not by its text', () => {
    const { lastTurn } = transition(running(), turn, SILENT_LOOP).state;
    assert.deepEqual(lastTurn, { promptId: 'p1', text: digest('Work.'), transcriptMark: '100' });
  });

  for (const [name, change] of [
    ['another text', { text: 'Other work.' }],
    ['another prompt', { promptId: 'p2' }],
    ['a transcript that grew: the agent said the same again', { transcriptMark: '200' }],
  ] as const) {
    test(`is another one with ${name}`, () => {
      const first = transition(running(), turn, SILENT_LOOP);
      assert.equal(transition(first.state, { ...turn, ...change }, SILENT_LOOP).state.iteration, 2);
    });
  }
});

describe('an iteration shows the breaker', () => {
  const thresholds = { findings: 3, noProgress: 3, sameReply: 3, sameError: 3, denials: 3, tdd: 3 };
  const strict = policy({ breaker: thresholds });
  const times = (count: number, ...given: Parameters<typeof turnEnded>) =>
    Array.from({ length: count }, () => turnEnded(...given));
  let told = 0;
  const different = () => `Reply number ${++told}.`;
  const ends = (count: number, make: () => ReturnType<typeof turnEnded>) => {
    const { state, effects } = after(running(), strict, ...Array.from({ length: count }, make));
    return state.status === 'ended' ? { as: state.ended.as, message: state.ended.message, effects } : null;
  };

  test('the same findings count, and the fourth one opens it', () => {
    const turn = () => turnEnded(`${different()}\nRALPH_ITERATION_COMPLETE: 2 findings remain`);
    assert.equal(ends(3, turn), null);
    const end = ends(4, turn);
    assert.equal(end?.as, 'circuit-open');
    assert.match(
      end?.message ?? '',
      /^Stopped by the circuit breaker \(findings\): 2 findings remained for 4 iterations\. Change the task, or try again: ralph-loop resume\./,
    );
  });

  test('the same reply, normalised', () => {
    let turns = 0;
    const turn = () => turnEnded(++turns % 2 === 0 ? 'Still failing.' : '  still   FAILING ');
    assert.equal(ends(3, turn), null);
    assert.match(ends(4, turn)?.message ?? '', /\(same reply\)/);
  });

  test('an empty reply only where no tool was called', () => {
    assert.match(ends(4, () => turnEnded('', { toolCalls: 0 }))?.message ?? '', /\(same reply\)/);
    assert.equal(
      ends(9, () => turnEnded('', { toolCalls: 1 })),
      null,
    );
  });

  test('a reply that is nothing but a signal as an empty one', () => {
    const turn = () => turnEnded('<!-- ralph:state busy -->', { toolCalls: 1 });
    assert.equal(ends(9, turn), null);
  });

  test('the same error', () => {
    const turn = () => turnEnded(different(), { error: 'Not allowed.' });
    assert.equal(ends(3, turn), null);
    const { message = '' } = ends(4, turn) ?? {};
    assert.match(message, /\(same error\): the same error 4 times in a row: Not allowed\.(?!\.)/);
  });

  test('the same error of a run without a message, which is no empty reply', () => {
    assert.match(ends(4, () => turnEnded('', { error: 'EACCES' }))?.message ?? '', /\(same error\)/);
    let errors = 0;
    const failed = [
      () => turnEnded('', { error: `error ${'abcdefghi'[errors++]}` }),
      () => turnEnded('', { timedOut: true }),
    ];
    for (const turn of failed) assert.equal(ends(9, turn), null);
  });

  test('no durable change', () => {
    const turn = () => turnEnded(different(), { progress: 'no' });
    assert.equal(ends(2, turn), null);
    assert.match(ends(3, turn)?.message ?? '', /\(no progress\)/);
  });

  test('every tool call denied', () => {
    const turn = () => turnEnded(different(), { toolCalls: 2, deniedCalls: 2 });
    assert.equal(ends(2, turn), null);
    assert.match(ends(3, turn)?.message ?? '', /\(denials\)/);
  });

  test('an unchanged scenario', () => {
    const turn = () => turnEnded(different(), { scenario: 'S1' });
    assert.equal(ends(3, turn), null);
    assert.match(ends(4, turn)?.message ?? '', /\(tdd\)/);
  });

  test('and adds a sign when it opens', () => {
    const { effects } = after(running(), strict, ...times(4, 'Still failing.'));
    const { sign } = effect(effects, 'add-sign');
    assert.deepEqual(sign, {
      name: 'Circuit breaker: same reply',
      trigger: 'Iterations repeat themselves (same reply).',
      instruction: 'Do it another way, or say plainly what blocks you.',
      addedAfter: 'the same reply 4 times in a row',
    });
    assert.equal(effect(effects, 'archive').as, 'circuit-open');
  });
});

describe('a signal that was seen where it does not count', () => {
  test('is explained with the next prompt', () => {
    const { effects } = after(running(), policy(), turnEnded(`I would say ${SIGNAL} but cannot.`));
    assert.match(
      effect(effects, 'prompt').notices.misplacedSignal ?? '',
      new RegExp(`contained ${SIGNAL} inside other text.*alone on a line`),
    );
  });

  test('is explained once', () => {
    const { effects } = after(running(), policy(), turnEnded(`No ${SIGNAL}.`), turnEnded('Work.'));
    assert.equal(effect(effects, 'prompt').notices.misplacedSignal, null);
  });

  test('is a promise without its tags, which the next prompt and the end of the loop name', () => {
    const loop = policy({ completion: { kind: 'promise', text: 'ALL DONE' } });
    const hint =
      /The last message contained ALL DONE, which does not count\. .* write <promise>ALL DONE<\/promise> exactly/;
    const { effects } = after(running({ maxIterations: 9 }), loop, turnEnded('All is written.\nALL DONE'));
    assert.match(effect(effects, 'prompt').notices.misplacedSignal ?? '', hint);
    const endOf = (text: string) =>
      effect(after(running({ maxIterations: 1 }), loop, turnEnded(text)).effects, 'archive');
    assert.match(endOf('ALL DONE').message, hint);
    assert.match(endOf('ALL DONE').message, /^Stopped after 1 iteration, the limit/);
    assert.doesNotMatch(endOf('Going on.').message, /does not count/, 'control');
  });

  test('is a promise in a loop with a promise', () => {
    const promised = policy({ completion: { kind: 'promise', text: 'DONE' } });
    const { effects } = after(running(), promised, turnEnded('I will give <promise>DONE</promise> later.'));
    assert.match(effect(effects, 'prompt').notices.misplacedSignal ?? '', /<promise>DONE<\/promise>/);
  });
});

describe('the last words of an iteration', () => {
  const words = (text: string) => transition(running(), turnEnded(text), policy()).state.lastWords;

  test('are its last five lines with content', () => {
    assert.deepEqual(words('one\n\ntwo  \n  three\n \nfour\nfive\nsix\n'), ['two', '  three', 'four', 'five', 'six']);
  });
  test('leave out the completion signal anywhere', () => {
    assert.deepEqual(words(`Not yet: ${SIGNAL}\n  ${SIGNAL}  \nMore to do.`), [`Not yet: ${SIGNAL}`, 'More to do.']);
  });
  test('leave out the marker of a state', () => {
    assert.deepEqual(words('Nothing to do.\n\n<!-- ralph:state idle -->\n'), ['Nothing to do.']);
    assert.deepEqual(words('<!-- TODO -->'), ['<!-- TODO -->'], 'control');
  });
  test('are none if it said nothing, or only the completion signal, whatever was said before', () => {
    const before = running({ lastWords: ['before'] });
    for (const text of [' \n\n', `${SIGNAL}\n`])
      assert.deepEqual(transition(before, turnEnded(text), policy()).state.lastWords, []);
    assert.deepEqual(transition(before, turnEnded('after'), policy()).state.lastWords, ['after'], 'control');
  });
  test('mask secrets and end after 300 characters', () => {
    const secret = `sk-ant-api03-${'a'.repeat(40)}`;
    const [line = ''] = words(`The key is ${secret}.`) ?? [];
    assert.equal(line.includes(secret), false);
    assert.deepEqual(words('x'.repeat(400)), ['x'.repeat(300)]);
    assert.deepEqual(words(`${'first\n'.repeat(3000)}last`)?.at(-1), 'last');
    assert.equal(words(`${'a'.repeat(20_000)}`)?.[0]?.length, 300);
  });
});
