import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuestions } from '../../../src/engine/identity/questions.ts';

/** Each open item as `SECTION line text`. */
function open(text: string): string[] {
  return readQuestions(text)
    .questions.filter(({ isOpen }) => isOpen)
    .map(({ section, line, text: said }) => `${section} ${line} ${said}`);
}

const CASES: readonly { readonly name: string; readonly text: string; readonly open: readonly string[] }[] = [
  { name: 'an empty text has nothing open', text: '', open: [] },
  {
    name: 'sections without items are ready',
    text: '# Open questions\n\n## P0\n\n## P1\n\n## P2\n- later\n',
    open: [],
  },
  {
    name: 'bullets of every kind and numbers are open',
    text: '## P0\n- a\n* b\n+ c\n1. d\n2) e\n',
    open: ['P0 2 a', 'P0 3 b', 'P0 4 c', 'P0 5 d', 'P0 6 e'],
  },
  {
    name: 'a checked task is answered, an unchecked one is open',
    text: '## P1\n- [x] a\n- [X] b\n- [ ] c\n1. [x] d\n',
    open: ['P1 4 c'],
  },
  { name: 'a task without a text is not open', text: '## P0\n- [ ]\n- [ ]   \n- \n-\n1.\n', open: [] },
  {
    name: 'a box that touches its text is a plain bullet',
    text: '## P0\n- [x]done\n- [ ]open\n- [-] c\n',
    open: ['P0 2 [x]done', 'P0 3 [ ]open', 'P0 4 c'],
  },
  { name: 'prose does not block', text: '## P0\n\nNothing is open here.\nReally.\n\n    code\n', open: [] },
  { name: 'a section ends at a heading of its level', text: '## P0\n## Notes\n- a\n', open: [] },
  { name: 'a section ends at a heading above its level', text: '### P0\n# Notes\n- a\n', open: [] },
  { name: 'a section goes on under a lower heading', text: '## P0\n### Storage\n- a\n', open: ['P0 3 a'] },
  {
    name: 'a P1 heading inside P0 opens P1 and leaves P0 open',
    text: '## P0\n### P1\n- a\n### Rest\n- b\n## Notes\n- c\n',
    open: ['P1 3 a', 'P0 5 b'],
  },
  { name: 'P0/P1 opens both', text: '## P0/P1\n- a\n', open: ['P0 2 a'] },
  { name: 'P1/P0 opens both, and the graver names them', text: '## P1 / P0\n- a\n', open: ['P0 2 a'] },
  { name: 'P0/P10 opens P0', text: '## P0/P10\n- a\n', open: ['P0 2 a'] },
  {
    name: 'emphasis around the word is ignored',
    text: '## **P0**: blockers\n- a\n## _P1_ soon\n- b\n## ***p1***\n- c\n',
    open: ['P0 2 a', 'P1 4 b', 'P1 6 c'],
  },
  { name: 'any case will do', text: '## p0 questions\n- a\n', open: ['P0 2 a'] },
  { name: 'a longer word is another word', text: '## P10\n- a\n## P0x\n- b\n## P0é\n- c\n## P2\n- d\n', open: [] },
  { name: 'the word must be the first', text: '## Open P0 items\n- a\n## No P1\n- b\n', open: [] },
  {
    name: 'marks and brackets before the word are no words',
    text: '## [P0] now\n- a\n## 🔴 P1\n- b\n## `P0`\n- c\n',
    open: ['P0 2 a', 'P1 4 b', 'P0 6 c'],
  },
  {
    name: 'punctuation ends the word',
    text: '## P0: now\n- a\n## P1-soon\n- b\n## P0.\n- c\n',
    open: ['P0 2 a', 'P1 4 b', 'P0 6 c'],
  },
  { name: 'hashes need a space', text: '##P0\n- a\n', open: [] },
  { name: 'closing hashes do no harm', text: '## P0 ##\n- a\n', open: ['P0 2 a'] },
  { name: 'seven hashes are no heading', text: '####### P0\n- a\n', open: [] },
  { name: 'a setext heading opens a section', text: 'P0\n===\n- a\n\nP1 soon\n---\n- b\n', open: ['P0 3 a', 'P1 7 b'] },
  { name: 'a setext heading ends a section', text: '## P0\n\nNotes\n-----\n- a\n', open: [] },
  {
    name: 'a setext heading of level two is inside level one',
    text: 'P0\n===\n\nStorage\n---\n- a\n',
    open: ['P0 6 a'],
  },
  {
    name: 'a setext heading of two lines begins with its first',
    text: 'P0 and what\nwe need\n---\n- a\n',
    open: ['P0 4 a'],
  },
  { name: 'a rule is no underline', text: '## P0\n\n---\n- a\n', open: ['P0 4 a'] },
  { name: 'a rule after a list is no underline', text: '## P0\n- [x] a\nlazy\n---\n- b\n', open: ['P0 5 b'] },
  { name: 'a rule after a quote is no underline', text: '## P0\n> a\nlazy\n---\n- b\n', open: ['P0 5 b'] },
  { name: 'a rule of marks is no item', text: '## P0\n- - -\n* * *\n***\n___\n', open: [] },
  { name: 'fences do not count', text: '## P0\n```\n- a\n## Notes\n```\n- b\n~~~md\n- c\n~~~\n', open: ['P0 6 b'] },
  { name: 'a longer fence holds a shorter one', text: '## P0\n````\n```\n- a\n````\n- b\n', open: ['P0 6 b'] },
  {
    name: 'a fence in an item does not count',
    text: '## P0\n- [x] a\n  - note\n    ```\n    - b\n    - [ ] c\n    ```\n- d\n',
    open: ['P0 8 d'],
  },
  {
    name: 'an unclosed fence in an item ends with the item',
    text: '## P0\n- [x] a\n  ```\n  - b\n- c\n',
    open: ['P0 5 c'],
  },
  {
    name: 'a fence that begins an item is its text, and hides what is in it',
    text: '## P0\n- ```\n  - b\n  ```\n',
    open: ['P0 2 ```'],
  },
  { name: 'comments do not count', text: '## P0\n<!-- - a -->\n<!--\n- b\n## Notes\n-->\n- c\n', open: ['P0 7 c'] },
  {
    name: 'an item that holds only a comment is empty',
    text: '## P0\n- <!-- write here -->\n- [ ] <!-- and here -->\n',
    open: [],
  },
  {
    name: 'a comment that begins in an item hides what is in it',
    text: '## P0\n- <!-- like\n  - a\n  -->\n- b\n',
    open: ['P0 5 b'],
  },
  {
    name: 'an unclosed comment in an item is text',
    text: '## P0\n- <!-- like\n  - a\n- b\n',
    open: ['P0 2 <!-- like', 'P0 3 a', 'P0 4 b'],
  },
  { name: 'a comment inside a heading is no word', text: '## <!-- x --> P0\n- a\n', open: ['P0 2 a'] },
  { name: 'block quotes do not count', text: '## P0\n> - a\n> ## Notes\n\n  > - b\n- c\n', open: ['P0 6 c'] },
  { name: 'a bullet under a checked item is a note', text: '## P0\n- [x] a\n  - b\n    - c\n  1. d\n', open: [] },
  {
    name: 'an unchecked task under a checked item is open',
    text: '## P0\n- [x] a\n  - [ ] b\n    - c\n',
    open: ['P0 3 b', 'P0 4 c'],
  },
  {
    name: 'a checked item under an open one answers only itself',
    text: '## P0\n- a\n  - [x] b\n    - note\n  - c\n',
    open: ['P0 2 a', 'P0 5 c'],
  },
  { name: 'a note may come after a blank line', text: '## P0\n- [x] a\n\n  more\n\n  - b\n', open: [] },
  { name: 'a bullet that is not indented to the text is no note', text: '## P0\n- [x] a\n - b\n', open: ['P0 3 b'] },
  {
    name: 'under a number a note is indented to its text',
    text: '## P0\n10. [x] a\n    - note\n10. [x] b\n  - c\n',
    open: ['P0 5 c'],
  },
  { name: 'a tab indents a note', text: '## P0\n- [x] a\n\t- b\n', open: [] },
  {
    name: 'prose at the margin ends the list above',
    text: '## P0\n- [x] a\n\nBeside it:\n\n  - b\n',
    open: ['P0 6 b'],
  },
  { name: 'prose that goes on in the item does not', text: '## P0\n- [x] a\ngoes on\n  - b\n', open: [] },
  { name: 'a heading ends the list above', text: '## P0\n- [x] a\n### More\n  - b\n', open: ['P0 4 b'] },
  {
    name: 'a comment at the margin ends the list above',
    text: '## P0\n- [x] a\n<!-- c -->\n  - b\n',
    open: ['P0 4 b'],
  },
  {
    name: 'items that begin on one line count as the innermost',
    text: '## P0\n- - a\n- 1. [x] b\n- - [ ]\n',
    open: ['P0 2 a'],
  },
  {
    name: 'an item may have its text on the next line',
    text: '## P0\n-\n  a\n- [ ]\n  b\n-\n\n  no longer\n-\nnor this\n',
    open: ['P0 2 a', 'P0 4 b'],
  },
  { name: 'a number inside a paragraph is prose', text: '## P0\nWe did this in\n1986. A good year\n', open: [] },
  {
    name: 'a number after a blank line is an item',
    text: '## P0\nWe did this.\n\n1986. A good year\n',
    open: ['P0 4 A good year'],
  },
  { name: 'an item that is indented like code counts', text: '## P0\n\n     - a\n', open: ['P0 3 a'] },
  {
    name: 'other line ends and a byte-order mark change nothing',
    text: '\uFEFF## P0\r\n- a\r- b\r\n',
    open: ['P0 2 a', 'P0 3 b'],
  },
  { name: 'bullets outside every section do not count', text: '- a\n# Open questions\n- b\n## P2\n- c\n', open: [] },
];

for (const { name, text, open: expected } of CASES) {
  test(name, () => assert.deepEqual(open(text), expected));
}

test('text below P0 or P1 without an item is unread, never none', () => {
  const isUnread = (text: string): boolean => readQuestions(text).isUnread;
  for (const text of [
    '## P0\n\nWhich store should we use?\n\n## P1\n',
    '## P0: Which store?\n\n**Status: OPEN**\n',
    '## P0\n\n- [x] Which port? 80\n\n## P1\n\n| question | status |\n|---|---|\n| Which store? | open |\n',
  ])
    assert.equal(isUnread(text), true, text);
  for (const text of ['## P0\n\nNone.\n', '## P0\n### Storage\nAbout it:\n- [x] Which? This\n', '## P0\n<!-- x -->\n'])
    assert.equal(isUnread(text), false, text);
  for (const none of ['Currently none.', '_(empty)_', 'Not applicable.', 'No open P1 items.', 'No blockers remaining'])
    assert.equal(isUnread(`## P0\n\n${none}\n`), false, none);
  for (const some of [
    'No items were answered.',
    'Not applicable to Windows: which shell?',
    'Empty file or none at all?',
  ])
    assert.equal(isUnread(`## P0\n\n${some}\n`), true, some);
});
