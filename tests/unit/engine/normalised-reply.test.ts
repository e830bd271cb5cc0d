import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { normalisedReply } from '../../../src/engine/signals/normalised-reply.ts';
import { SIGNAL } from './support/loop.ts';

const LOOP = { completion: { kind: 'signal', text: SIGNAL } } as const;
const normalised = (text: string) => normalisedReply(text, LOOP);

describe('two replies are the same when they differ only in', () => {
  const cases: Record<string, [string, string]> = {
    'white space': ['a  b\n\n c\u2028d', 'a b c d'],
    case: ['Still Failing', 'still failing'],
    'trailing punctuation': ['still failing', 'still failing!?… '],
    'the completion signal': [`still failing\n${SIGNAL}`, 'still failing'],
    'the completion signal in the middle': [`still ${SIGNAL} failing`, 'still failing'],
    'a state marker': ['still failing <!-- ralph:state idle -->', 'still failing'],
    'two state markers': ['<!--ralph:state a--> still failing <!-- ralph:state b-2 -->', 'still failing'],
    'a full stop before a marker': ['still failing.\n<!--\n ralph:state\tidle -->', 'still failing'],
  };
  for (const [name, [one, other]] of Object.entries(cases)) {
    test(name, () => assert.equal(normalised(one), normalised(other)));
  }
});

test('the findings signal is taken out and its count stays', () => {
  assert.equal(normalised('RALPH_ITERATION_COMPLETE: 3 findings remain.'), '3 findings remain');
  assert.equal(normalised('Read RALPH_ITERATION_COMPLETE: 3, then RALPH_ITERATION_COMPLETE: 2'), 'read 3, then 2');
});

test('what was taken out leaves a gap between its neighbours', () => {
  assert.equal(normalised(`one${SIGNAL}two`), 'one two');
  assert.equal(normalised('one<!-- ralph:state   idle -->two'), 'one two');
  assert.equal(normalised('oneRALPH_ITERATION_COMPLETE:2'), 'one 2');
});

test('digits stay, so that a count that falls is no repetition', () => {
  assert.notEqual(normalised('3 tests fail'), normalised('2 tests fail'));
});

test('punctuation inside and before the text stays', () => assert.equal(normalised('«a, b»'), '«a, b'));

test('a promise is taken out with its tag', () => {
  const loop = { completion: { kind: 'promise', text: 'DONE' } } as const;
  assert.equal(normalisedReply('All done <promise>DONE</promise>', loop), 'all done');
});

test('a loop without a completion form has nothing of the kind to take out', () => {
  assert.equal(normalisedReply(`x ${SIGNAL}`, { completion: { kind: 'none' } }), `x ${SIGNAL.toLowerCase()}`);
});

test('a message of nothing but signals and punctuation is empty', () => {
  assert.equal(normalised(`**${SIGNAL}**!\n<!-- ralph:state idle -->`), '');
  assert.equal(normalised(''), '');
});

test('every punctuation mark and no other character is dropped at the end', () => {
  for (let code = 0; code < 0x3100; code++) {
    const mark = String.fromCharCode(code);
    const dropped = /[\p{P}\s]/u.test(mark);
    assert.equal(normalised(`a${mark}`) === 'a', dropped, `U+${code.toString(16)}`);
  }
});
