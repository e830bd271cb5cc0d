import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines } from '../../../../src/text/markdown/lines.ts';

const plain = (text: string) => [...lines(text)].filter(({ inFence }) => !inFence);
const shown = (text: string) => plain(text).map((line) => line.text);

test('lines keep their numbers from 1, whatever ends them', () => {
  const read = plain('a\r\nb\rc\n\n```\nd\n```\ne');
  assert.deepEqual(
    read.map(({ text, number }) => `${number} ${text}`),
    ['1 a', '2 b', '3 c', '4 ', '8 e'],
  );
});

test('a line separator does not end a line or hide the ends of a fence', () => {
  assert.deepEqual(shown('a\u2028b\u2029c'), ['a\u2028b\u2029c']);
  assert.deepEqual(shown('```js\u2028x\na\n```\nb'), ['b']);
  assert.deepEqual(shown('```\na\n```\u2028x\nb\n```\nc'), ['c']);
});

test('a fence opens and closes as in CommonMark', () => {
  assert.deepEqual(shown('   ~~~\na\n~~~~\nb'), ['b']);
  assert.deepEqual(shown('    ```\na'), ['    ```', 'a']);
  assert.deepEqual(shown('x ```\na'), ['x ```', 'a']);
  assert.deepEqual(shown('``\na'), ['``', 'a']);
  assert.deepEqual(shown('```a`b\nc'), ['```a`b', 'c']);
  assert.deepEqual(shown('~~~a`b\nc\n~~~\nd'), ['d']);
  assert.deepEqual(shown('````\na\n```\nb\n````  \nc'), ['c']);
  assert.deepEqual(shown('```\na\n~~~\nb\n``` c\nd'), []);
});

test('removes a comment within a line and over several lines', () => {
  assert.deepEqual(shown('a<!-- b -->c<!--d-->e'), ['ace']);
  assert.deepEqual(shown('  <!-- a\nb\nc -->d\ne'), ['  ', '', 'd', 'e']);
});

test('an unclosed comment is text', () => {
  assert.deepEqual(shown('<!-- a\nb'), ['<!-- a', 'b']);
  assert.deepEqual(shown('- <!-- a\n  - b\nc'), ['- <!-- a', '  - b', 'c']);
});

test('a comment within a line ends with its paragraph, one at the start of a line does not', () => {
  assert.deepEqual(shown('a <!-- b\nc --> d'), ['a ', ' d']);
  assert.deepEqual(shown('a <!-- b\n\nc --> d'), ['a <!-- b', '', 'c --> d']);
  assert.deepEqual(shown('- [ ] <!-- b\n\nc --> d'), ['- [ ] ', '', ' d']);
  assert.deepEqual(shown('> <!-- b\n> --> c'), ['> <!-- b', '> --> c']);
});

test('a comment in code is text', () => {
  for (const text of ['`<!-- a -->`', '``<!-- ` -->``', '    <!-- a -->', '```\n<!-- a -->\n```'])
    assert.deepEqual(
      [...lines(text)].map((line) => line.text),
      text.split('\n'),
    );
  assert.deepEqual(shown('a ` b <!-- c --> d'), ['a ` b  d']);
  assert.deepEqual(shown('<!-- don`t --> a <!-- can`t --> b'), [' a  b']);
});

test('an unclosed fence ends with its list item', () => {
  assert.deepEqual(shown('- a\n  ```\n  b\nc'), ['- a', 'c']);
  assert.deepEqual(shown('```\nb\nc'), []);
});

test('a fence in a comment and a comment in a fence have no other effect', () => {
  assert.deepEqual(shown('<!--\n```\n-->\na'), ['', '', '', 'a']);
  assert.deepEqual(shown('<!--\n``` -->\na'), ['', '', 'a']);
  assert.deepEqual(shown('```\n<!--\n```\na'), ['a']);
});

test('text about a comment hides nothing that follows', () => {
  assert.deepEqual(shown('Problem: an unclosed `<!--` in a page\na\n-->\nb'), [
    'Problem: an unclosed `<!--` in a page',
    'a',
    '-->',
    'b',
  ]);
  assert.deepEqual(shown('a <!-- b --> c <!-- d\ne'), ['a  c <!-- d', 'e']);
  assert.deepEqual(shown('a --> <!-- b\nc'), ['a --> <!-- b', 'c']);
});

test('reads a line of a million markers in linear time', () => {
  const lines = shown(`<!--${'<!-- '.repeat(200_000)}\n${'-->'.repeat(300_000)}${'<!---->'.repeat(150_000)}`);
  assert.equal(lines.length, 2);
});
