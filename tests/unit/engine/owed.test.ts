import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  evadedQuestionsText,
  goneText,
  missingItemsText,
  openItemsText,
  unreadBoxesText,
} from '../../../src/engine/identity/messages.ts';
import { compareQuestions, readQuestions } from '../../../src/engine/identity/questions.ts';
import { render } from '../../../src/text/message.ts';

const compared = (had: readonly string[], text: string) => compareQuestions(had, readQuestions(text).questions);
const outcome = (had: readonly string[], text: string) => {
  const { missing, evaded, owed } = compared(had, text);
  return { missing, evaded: evaded.map(({ text: said }) => said), owed };
};

test('a question that was seen open is owed until it is seen answered', () => {
  const none = { missing: [], evaded: [], owed: [] };
  assert.deepEqual(outcome([], '# P0\n- [ ] Which key?\n- [x] Which port?\n'), { ...none, owed: ['Which key?'] });
  const had = ['Which key?'];
  const bare = { missing: [], evaded: had, owed: had };
  assert.deepEqual(outcome(had, '# P0\n- [ ] Which key?\n'), { ...none, owed: had }, 'still open');
  assert.deepEqual(outcome(had, '# P0\nNone.\n'), { ...none, missing: had, owed: had }, 'gone');
  assert.deepEqual(outcome(had, '# P0\n- [x] Which key?\n'), bare, 'checked without an answer');
  assert.deepEqual(
    outcome(had, '# P0\n- [x] Which key? The old one.\n'),
    { ...none, evaded: [] },
    'answered behind it',
  );
  assert.deepEqual(outcome(had, '# P0\n- [x] Which key?\n  - The old one.\n'), none, 'answered below it');
  assert.deepEqual(outcome(had, '# P2\n- [ ] Which key?\n'), { ...bare, evaded: had }, 'moved');
});

test('a plain note inside a question is no question, and one with a box is', () => {
  const { owed } = compared([], '# P1\n- [ ] Which key?\n  - see the wiki\n  - [ ] and for tests?\n');
  assert.deepEqual(owed, ['Which key?', 'and for tests?']);
});

test('questions that were moved and those checked without an answer are told apart', () => {
  const { evaded } = compared(['one?', 'two?', 'three?'], '# P0\n- [x] one?\n# P2\n- [ ] two?\n- [ ] three?\n');
  assert.equal(
    evadedQuestionsText(evaded),
    'Open under P0 or P1 before, and moved without an answer: "two?", "three?".\nChecked without an answer, which belongs behind or below it: "one?".',
  );
  assert.equal(evadedQuestionsText([]), '');
});

test('what is missing is named: five of it, with the number of the others', () => {
  const many = ['a "b"', 'c', 'd', 'e', 'f', 'g', 'h'];
  const close = 'Put back what is missing, with its words, and close it there.';
  assert.equal(goneText('Q.md', ['a']), `1 entry was open, and it is no longer in Q.md: "a". ${close}`);
  assert.equal(
    goneText('Q.md', many),
    `7 entries were open, and they are no longer in Q.md: "a 'b'", "c", "d", "e", "f" and 2 more. ${close}`,
  );
  const said = (missing: string[]): string => render(missingItemsText('T.md', missing), { name: null, mode: 'hook' });
  assert.match(said(['a']), /^1 item is missing from T\.md: "a"\. The loop cannot complete .* accept\b/);
  assert.match(said(many.slice(0, 5)), /^5 items are missing from T\.md: "a 'b'", "c", "d", "e", "f"\. The loop/);
});

test('open items and lines that only look like items are counted and shown', () => {
  const stand = (done: number, total: number) => ({ done, total, missing: [], unread: [] });
  assert.equal(openItemsText(stand(2, 3), ['a']), '1 of its items is open: "a". Any mark but x is open.');
  assert.equal(openItemsText(stand(1, 3), ['a', 'b']), '2 of its 3 items are open: "a", "b". Any mark but x is open.');
  const lines = (count: number) => Array.from({ length: count }, (_, at) => ({ line: at + 2, text: `[]${at}` }));
  const write = 'Write "- [ ] what" or "- [x] what".';
  assert.equal(unreadBoxesText('T.md', lines(1)), `Line 2 of T.md looks like an item and is none ("[]0"). ${write}`);
  const five = 'Lines 2, 3, 4, 5, 6';
  assert.equal(unreadBoxesText('T.md', lines(5)), `${five} of T.md look like items and are none ("[]0"). ${write}`);
  assert.match(unreadBoxesText('T.md', lines(7)), /^Lines 2, 3, 4, 5, 6 and 2 more of T\.md look/);
});
