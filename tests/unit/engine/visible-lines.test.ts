import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visibleLines as shown } from '../../../src/engine/signals/signals.ts';

test('a line ends with a line feed, a carriage return, or both', () => {
  assert.deepEqual(shown('a\r\nb\rc\n\n```\nd\n```\ne'), ['a', 'b', 'c', 'e']);
});

test('a line separator does not end a line', () => assert.deepEqual(shown('a\u2028b\u2029c'), ['a\u2028b\u2029c']));

test('empty lines are left out', () => assert.deepEqual(shown('\n\na\n\n'), ['a']));

test('a fence hides its own lines and its content', () => {
  assert.deepEqual(shown('a\n```js\nb\n```\nc\n~~~\nd\n~~~\ne'), ['a', 'c', 'e']);
});

test('a fence may be indented by up to three spaces and close with more marks than it opened with', () => {
  assert.deepEqual(shown('   ```\nb\n ````` \nc'), ['c']);
});

test('four spaces before the marks open no fence', () => assert.deepEqual(shown('    ```\na'), ['a']));

test('four spaces before the marks close no fence', () => assert.deepEqual(shown('```\n    ```\na\n```\nb'), ['b']));

test('two marks open no fence', () => assert.deepEqual(shown('~~\na'), ['~~', 'a']));

test('backticks with a backtick in their info string open no fence', () => {
  assert.deepEqual(shown('```a`\nb'), ['```a`', 'b']);
});

test('tildes with a backtick in their info string open one', () => assert.deepEqual(shown('~~~a`\nb\n~~~\nc'), ['c']));

test('a fence in a list item ends with its own marks', () => {
  assert.deepEqual(shown('- ```\n  a\n  ```\n- b'), ['- b']);
  assert.deepEqual(shown('10. ```\n    a\n    ```\n    b\nc'), ['c']);
});

test('a fence in a list item ends with the item', () => {
  assert.deepEqual(shown('- ```\n  a\nb\n  c'), ['b', '  c']);
});

test('an empty line does not end a list item', () => assert.deepEqual(shown('- ```\n  a\n\n  b\n  ```\nc'), ['c']));

test('a line of white space does not end a list item', () => {
  assert.deepEqual(shown('- ```\n  a\n \n  b\n  ```\nc'), ['c']);
});

test('a tab further on keeps no line in its list item', () => {
  assert.deepEqual(shown('- ```\n  a\nb\tc'), ['b\tc']);
});

test('a fence in a list item may close three spaces further in', () => {
  assert.deepEqual(shown('- ```\n  a\n     ```\n  b'), ['  b']);
});

test('a list mark may have several spaces and digits', () => {
  assert.deepEqual(shown('-   ```\n    a\n    ```\n-   > q\n12. > q\nb'), ['b']);
});

test('a tab keeps a line in its list item', () => assert.deepEqual(shown('- ```\n\ta\n  ```\nb'), ['b']));

test('a fence can stand in the item of an item', () => assert.deepEqual(shown('- 1. ~~~\n     a\n     ~~~\nb'), ['b']));

test('a list marker before the marks closes no fence', () => assert.deepEqual(shown('```\n- ```\na\n```\nb'), ['b']));

test('a fence that ends with its list item can be followed by another', () => {
  assert.deepEqual(shown('- ```\n  a\n- ```\n  b\n  ```\nc'), ['c']);
});

test('indented code and quotes are hidden', () => {
  assert.deepEqual(shown('    a\n\tb\n   \tc\n> d\n   > e\n- > f\n1. > g\n   h'), ['   h']);
});

test('inline code is blanked out character by character', () => {
  assert.deepEqual(shown('a `b` c ``d ` e`` f'), ['a \uFFFC c \uFFFC f']);
});

test('an unclosed run of backticks is text', () => {
  assert.deepEqual(shown('a ` b `` c'), ['a ` b `` c']);
  assert.deepEqual(shown('a `` b ` c ` d'), ['a `` b \uFFFC d']);
  assert.deepEqual(shown('`a` b ` c'), ['\uFFFC b ` c']);
});

test('a run is closed by the next one of the same length', () => {
  assert.deepEqual(shown('`a``b` c `d`'), ['\uFFFC c \uFFFC']);
});
