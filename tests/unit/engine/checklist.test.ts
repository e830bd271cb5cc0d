import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ChecklistStand, compareChecklist, isFinished } from '../../../src/engine/identity/items.ts';
import { initialState } from '../../../src/engine/initial-state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { checklistItems, countChecklist, unreadBoxes } from '../../../src/text/markdown/lists.ts';
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
    ['with another mark, as open ones', '- [-] a\n- [/] b\n- [✔️] c\n- [~]\td', ['1  a', '2  b', '3  c', '4  d']],
    ['with a star after the box', '- [ ]* a\n- [x]* b', ['1  a', '2x b']],
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
    ['with a bracket of more than one character', '- [2026-01-01] a\n- [done] b\n- [link](url)\n- [~](url)'],
    ['with nothing or blanks around the mark', '- [] c\n- [ x ] d\n- [ \\] e'],
    ['that is no list item', '[ ] a\n\\- [ ] b'],
  ] as const) {
    test(`exclude those ${what}`, () => assert.deepEqual(shown(text), []));
  }

  test('are counted', () => {
    assert.deepEqual(countChecklist(checklistItems('- [x] a\n- [ ] b\n- [X] c')), { done: 2, total: 3 });
    assert.deepEqual(countChecklist([]), { done: 0, total: 0 });
  });
});

describe('what looks like an item and is none', () => {
  const found = (text: string): string[] => unreadBoxes(text).map(({ line, text: said }) => `${line} ${said}`);

  for (const [what, text, lines] of [
    ['without a mark', '- [] a\n- [ ] b', ['1 [] a']],
    [
      'with blanks in the box',
      '- [ x ] a\n- [x ] b\n- [  ] c\n- [ ~ ] d',
      ['1 [ x ] a', '2 [x ] b', '3 [  ] c', '4 [ ~ ] d'],
    ],
    ['without a blank after the box', '- [ ]a\n- [x]b\n- [~]c\n- [x]: d', ['1 [ ]a', '2 [x]b', '3 [~]c', '4 [x]: d']],
    ['without a blank after the list mark', '-[ ] a\n\n*[x] b\n\n1.[ ] c', ['1 -[ ] a', '3 *[x] b', '5 1.[ ] c']],
    ['without a list mark', '[ ] a\n\n## [x] b\n\n- c\n  [ ] d', ['1 [ ] a', '3 [x] b', '6 [ ] d']],
    [
      'behind marks that only look like those of a list',
      '• [ ] a\n\n– [x] b\n\na) [ ] c',
      ['1 • [ ] a', '3 – [x] b', '5 a) [ ] c'],
    ],
    ['in emphasis', '- **[ ] a**\n- _[x]_ b\n\n**[ ] c**', ['1 **[ ] a**', '2 _[x]_ b', '4 **[ ] c**']],
    ['in a table', '| what | |\n| - | - |\n| [ ] | a |\n| b | **[x]** |', ['3 | [ ] | a |', '4 | b | **[x]** |']],
    ['that is one character', '- ☐ a\n\n☑ b\n\n• ☒ c', ['1 ☐ a', '3 ☑ b', '5 • ☒ c']],
    ['with escaped brackets', '- \\[ \\] a\n- \\[x] b', ['1 \\[ \\] a', '2 \\[x] b']],
  ] as const) {
    test(`is found: a box ${what}`, () => assert.deepEqual(found(text), lines));
  }

  for (const [what, text] of [
    ['items of every kind', '- [ ] a\n* [x] b\n1. [~] c\n- [-]* d'],
    ['links and references', '- [x](url)\n- [ ](url)\n- [x][ref]\n- [a]b\n\n[x]: url\n\n[1] note\n\n[*] note'],
    ['dates and words', '- [2026-01-01] a\n- [WIP] b\n\n[TODO] c'],
    ['examples in code, quotes and comments', '```\n- []a\n```\n> - [] a\n\n<!-- - [] a -->\n\n`[ ]` means open'],
    ['a box in the middle of a line', 'write [ ] or [x] before it\n\nlist | [] of it'],
    ['links, words and code in emphasis or in a table', '- **[x](url)**\n- *[a]* b\n\n| [x](url) | `[ ]` | c [ ] |'],
  ] as const) {
    test(`are not ${what}`, () => assert.deepEqual(found(text), []));
  }
});

const POLICY = policy({
  completion: { kind: 'none' },
  pace: { delayMs: 0, iterationTimeoutMs: null, stopOnError: false, tracksProgress: true },
});

const stand = (done: number, total: number, more: Partial<ChecklistStand> = {}): ChecklistStand => ({
  ...{ done, total, missing: [], unread: [] },
  ...more,
});

describe('a checklist in the engine', () => {
  test('that is finished claims completion, whatever the message says', () => {
    const { state, effects } = transition(
      running({ checklist: { done: 1, total: 2 } }),
      turnEnded('', { checklist: stand(2, 2) }),
      POLICY,
    );
    assert.equal(step(effects)?.type, 'verify');
    assert.deepEqual(state.checklist, { done: 2, total: 2 });
    assert.ok(recorded(effects).includes('completion.claimed'));
  });

  test('without items, with open, missing or unread ones claims nothing', () => {
    const before = { checklist: { done: 1, total: 3 } };
    const unread = [{ line: 3, text: '[]a' }];
    for (const checklist of [stand(0, 0), stand(2, 3), stand(2, 2, { missing: ['a'] }), stand(2, 2, { unread })]) {
      assert.equal(isFinished(checklist), false);
      const { state, effects } = transition(running(before), turnEnded('ok', { checklist }), POLICY);
      assert.equal(step(effects)?.type, 'prompt', JSON.stringify(checklist));
      assert.deepEqual(state.checklist, { done: checklist.done, total: checklist.total });
    }
  });

  test('remembers the items of each time, and counts lines from the beginning of the file', () => {
    const first = compareChecklist('- [ ] a\n- [ ] b\n', 4, []);
    assert.deepEqual(first.known, ['a', 'b']);
    const second = compareChecklist('- [x] b\n-[ ] c\n- [ ] d\n', 4, first.known);
    assert.deepEqual(second.stand, stand(1, 2, { missing: ['a'], unread: [{ line: 5, text: '-[ ] c' }] }));
    assert.deepEqual(second.known, ['a', 'b', 'd']);
    assert.deepEqual(
      second.items.map(({ line }) => line),
      [4, 6],
    );
  });

  for (const [had, now] of [
    ['Fix login (two tests)', 'Fix login'],
    ['Fix login(two tests)', 'Fix login'],
    ['Fix login — for all', 'Fix login'],
    ['Fix login – for all', 'First fix login'],
    ['Fix login -- for all', 'Fix login, then log out'],
    ['Fix login -> session', 'Fix login'],
    ['Fix login → session', 'Fix login'],
    ['Fix login => session', 'Fix login'],
  ] as const) {
    test(`takes "${now}" for "${had}" without its note`, () =>
      assert.deepEqual(compareChecklist(`- [x] ${now}`, 1, [had]).stand.missing, []));
  }

  for (const [had, now] of [
    ['Say "hello" to the user\'s friend', 'Say “hello” to the user’s friend'],
    ['Rename foo_bar to `*`', 'Rename foo\\_bar to \\*'],
  ] as const) {
    test(`takes "${now}" for "${had}", whatever its quotes and escapes`, () =>
      assert.deepEqual(compareChecklist(`- [x] ${now}`, 1, [had]).stand.missing, []));
  }

  for (const [had, now] of [
    ['Fix (the) login', 'Fix'],
    ['Fix login—for all', 'Fix login'],
    ['Fix login - for all', 'Fix login'],
    ['(later)', 'Fix login'],
    ['Fix login (two)', 'Fix logins'],
  ] as const) {
    test(`does not take "${now}" for "${had}"`, () =>
      assert.deepEqual(compareChecklist(`- [x] ${now}`, 1, [had]).stand.missing, [had]));
  }

  test('is that of the user when they accept it', () => {
    const cut = running({ checklist: { done: 1, total: 3 } });
    const accept = {
      kind: 'accept',
      contractHash: 'h',
      id: 'a1',
      changes: 'a -> b',
      maxIterations: 25,
      checklist: { done: 1, total: 1 },
    } as const;
    const { state } = transition(cut, command(accept), POLICY);
    assert.deepEqual(state.checklist, { done: 1, total: 1 });
  });

  test('records the iteration that was asked to reflect', () => {
    const first = transition(running(), turnEnded('a', { checklist: stand(0, 1), reflected: true }), POLICY);
    assert.equal(first.state.lastReflection, first.state.iteration);
    const next = transition(first.state, turnEnded('b', { checklist: stand(0, 1) }), POLICY);
    assert.equal(next.state.lastReflection, first.state.iteration);
  });

  test('starts from its file, and every other task without items', () => {
    const loop = { loopId: 'l', name: null, mode: 'runner', taskPath: 't', contractHash: null } as const;
    const rest = { maxIterations: 50, at: at(0), consented: true };
    const { checklist } = initialState({ ...loop, ...rest, checklist: { done: 1, total: 2 } });
    assert.deepEqual(checklist, { done: 1, total: 2 });
    assert.equal('checklist' in initialState({ ...loop, ...rest, checklist: null }), false);
  });
});

test('a numbered list keeps its boxes behind a line of HTML', () => {
  assert.deepEqual(
    checklistItems('1. [x] a\n</details>\n2. [ ] b\n3. [ ] c\n').map(({ checked }) => checked),
    [true, false, false],
  );
});
