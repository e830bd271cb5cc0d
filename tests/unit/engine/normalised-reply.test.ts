import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { normalisedReply } from '../../../src/engine/transitions/iteration-ended.ts';
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

test('removes the findings signal and keeps its count', () => {
  assert.equal(normalised('RALPH_ITERATION_COMPLETE: 3 findings remain.'), '3 findings remain');
  assert.equal(normalised('Read RALPH_ITERATION_COMPLETE: 3, then RALPH_ITERATION_COMPLETE: 2'), 'read 3, then 2');
});

test('leaves a gap where text was removed', () => {
  assert.equal(normalised(`one${SIGNAL}two`), 'one two');
  assert.equal(normalised('one<!-- ralph:state   idle -->two'), 'one two');
  assert.equal(normalised('oneRALPH_ITERATION_COMPLETE:2'), 'one 2');
});

test('keeps digits, so that a falling count is not a repetition', () => {
  assert.notEqual(normalised('3 tests fail'), normalised('2 tests fail'));
});

test('keeps punctuation inside and before the text', () => assert.equal(normalised('«a, b»'), '«a, b'));

test('removes a promise with its tag', () => {
  const loop = { completion: { kind: 'promise', text: 'DONE' } } as const;
  assert.equal(normalisedReply('All done <promise>DONE</promise>', loop), 'all done');
});

test('removes nothing in a loop without a completion form', () => {
  assert.equal(normalisedReply(`x ${SIGNAL}`, { completion: { kind: 'none' } }), `x ${SIGNAL.toLowerCase()}`);
});

test('a message of only signals and punctuation is empty', () => {
  assert.equal(normalised(`**${SIGNAL}**!\n<!-- ralph:state idle -->`), '');
  assert.equal(normalised(''), '');
});

test('drops every punctuation mark and no other character at the end', () => {
  for (let code = 0; code < 0x3100; code++) {
    const mark = String.fromCharCode(code);
    const dropped = /[\p{P}\s]/u.test(mark);
    assert.equal(normalised(`a${mark}`) === 'a', dropped, `U+${code.toString(16)}`);
  }
});
