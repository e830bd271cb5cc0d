import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { initialState } from '../../../src/engine/initial-state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { isFinished, lostItems } from '../../../src/engine/transitions/build.ts';
import { checklistItems, countChecklist } from '../../../src/text/markdown/checklist.ts';
import { at, command, policy, recorded, running, step, turnEnded } from './support/loop.ts';

const shown = (text: string): string[] =>
  checklistItems(text).map(({ line, checked, text: said }) => `${line}${checked ? 'x' : ' '} ${said}`);

describe('the items of a checklist', () => {
  for (const [what, text, items] of [
    ['of every mark, checked by any x', '- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d', ['1  a', '2x b', '3x c', '4  d']],
    ['nested ones, each for itself', '- [ ] a\n  - [x] b\n    - [ ] c', ['1  a', '2x b', '3  c']],
    ['whose text stands on the next line', '- [ ]\n  a', ['1  a']],
    ['in different sections', '# A\n- [ ] a\n\n# B\n\n- [x] b', ['2  a', '6x b']],
    ['after Windows line ends', '- [ ] a\r\n- [x] b\r\n', ['1  a', '2x b']],
    ['of an ordered list that a sentence does not begin', 'text\n2. [ ] no item\n1. [ ] item', ['3  item']],
  ] as const) {
    test(`include those ${what}`, () => assert.deepEqual(shown(text), items));
  }

  for (const [what, text] of [
    ['in a code fence', '```\n- [ ] a\n```'],
    ['in a fence that is never closed', '~~~\n- [ ] a'],
    ['in indented code', 'text\n\n    - [ ] a'],
    ['in a comment', '<!--\n- [ ] a\n-->'],
    ['in a block quote', '> - [ ] a'],
    ['without a text', '- [ ]\n- [x] '],
    ['without a space', '- [ ]a\n- [x](url)'],
    ['with another mark', '- [-] a\n- [/] b\n- [] c'],
    ['that is no list item', '[ ] a\n\\- [ ] b'],
  ] as const) {
    test(`exclude those ${what}`, () => assert.deepEqual(shown(text), []));
  }

  test('are counted', () => {
    assert.deepEqual(countChecklist(checklistItems('- [x] a\n- [ ] b\n- [X] c')), { done: 2, total: 3 });
    assert.deepEqual(countChecklist([]), { done: 0, total: 0 });
  });
});

const POLICY = policy({
  completion: { kind: 'none' },
  pace: { delayMs: 0, iterationTimeoutMs: null, stopOnError: false, tracksProgress: true },
});

describe('a checklist in the engine', () => {
  test('that is finished claims completion, whatever the message says', () => {
    const { state, effects } = transition(
      running({ checklist: { done: 1, total: 2, most: 2 } }),
      turnEnded('', { checklist: { done: 2, total: 2 } }),
      POLICY,
    );
    assert.equal(step(effects)?.type, 'verify');
    assert.deepEqual(state.checklist, { done: 2, total: 2, most: 2 });
    assert.ok(recorded(effects).includes('completion.claimed'));
  });

  test('without items, with open ones or with fewer than before claims nothing', () => {
    const before = { checklist: { done: 1, total: 3, most: 3 } };
    for (const checklist of [
      { done: 0, total: 0 },
      { done: 2, total: 3 },
      { done: 2, total: 2 },
    ]) {
      const { state, effects } = transition(running(before), turnEnded('ok', { checklist }), POLICY);
      assert.equal(step(effects)?.type, 'prompt', JSON.stringify(checklist));
      assert.deepEqual(state.checklist, { ...checklist, most: 3 });
    }
  });

  test('that grew has to be finished at its new length', () => {
    const grown = transition(running(), turnEnded('a', { checklist: { done: 2, total: 5 } }), POLICY).state;
    assert.equal(isFinished({ done: 4, total: 4 }, grown.checklist), false);
    assert.equal(isFinished({ done: 5, total: 5 }, grown.checklist), true);
  });

  test('that lost items is complete again when the user accepts it', () => {
    const cut = running({ checklist: { done: 1, total: 1, most: 3 } });
    const accept = {
      kind: 'accept',
      contractHash: 'h',
      id: 'a1',
      changes: 'a -> b',
      maxIterations: 25,
      checklist: { done: 1, total: 1 },
    } as const;
    const { state } = transition(cut, command(accept), POLICY);
    assert.deepEqual(state.checklist, { done: 1, total: 1, most: 1 });
    assert.deepEqual(transition(cut, command({ ...accept, checklist: undefined } as never), POLICY).state.checklist, {
      ...{ done: 1, total: 1, most: 3 },
    });
  });

  test('reports each loss of items once', () => {
    const before = { done: 0, total: 3, most: 3 };
    assert.match(
      lostItems({ done: 0, total: 2 }, before, 't')?.text ?? '',
      /^1 item was removed from t: it had 3 and has 2\./,
    );
    assert.match(lostItems({ done: 0, total: 1 }, before, 't')?.text ?? '', /^2 items were removed/);
    assert.equal(lostItems({ done: 0, total: 2 }, { ...before, total: 2 }, 't'), null, 'known by now');
    assert.equal(lostItems({ done: 3, total: 3 }, before, 't'), null);
    assert.equal(lostItems({ done: 0, total: 0 }, undefined, 't'), null);
  });

  test('records the iteration that was asked to reflect', () => {
    const first = transition(running(), turnEnded('a', { checklist: { done: 0, total: 1 }, reflected: true }), POLICY);
    assert.equal(first.state.lastReflection, first.state.iteration);
    const next = transition(first.state, turnEnded('b', { checklist: { done: 0, total: 1 } }), POLICY);
    assert.equal(next.state.lastReflection, first.state.iteration);
  });

  test('starts from its file, and every other task without items', () => {
    const loop = { loopId: 'l', name: null, mode: 'runner', taskPath: 't', contractHash: null } as const;
    const rest = { maxIterations: 50, at: at(0), consented: true };
    const { checklist } = initialState({ ...loop, ...rest, checklist: { done: 1, total: 2 } });
    assert.deepEqual(checklist, { done: 1, total: 2, most: 2 });
    assert.equal('checklist' in initialState({ ...loop, ...rest, checklist: null }), false);
  });
});
