import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';

test('returns the text between the markers and after them exactly', () => {
  const split = splitFrontmatter('---\na: 1\nb: 2\n---\n# Task\n\nDo it.\n');
  assert.deepEqual(split, {
    frontmatter: 'a: 1\nb: 2\n',
    frontmatterLine: 2,
    body: '# Task\n\nDo it.\n',
    bodyLine: 5,
  });
});

test('a file without frontmatter is only body', () => {
  assert.deepEqual(splitFrontmatter('# Task\n---\nrule\n---\n'), {
    frontmatter: '',
    frontmatterLine: null,
    body: '# Task\n---\nrule\n---\n',
    bodyLine: 1,
  });
  assert.equal(splitFrontmatter('').body, '');
});

test('tells empty frontmatter from missing frontmatter by its line', () => {
  assert.deepEqual(splitFrontmatter('---\n---\nbody'), {
    frontmatter: '',
    frontmatterLine: 2,
    body: 'body',
    bodyLine: 3,
  });
});

test('leaves out a byte order mark', () => {
  assert.equal(splitFrontmatter('\ufeff---\na: 1\n---\nbody').frontmatter, 'a: 1\n');
  assert.equal(splitFrontmatter('\ufeffbody').body, 'body');
});

test('accepts and keeps CRLF', () => {
  const split = splitFrontmatter('---\r\na: 1\r\n---\r\nbody\r\n');
  assert.equal(split.frontmatter, 'a: 1\r\n');
  assert.equal(split.body, 'body\r\n');
  assert.equal(split.bodyLine, 4);
});

test('accepts HTML comments before the first marker, over several lines', () => {
  const split = splitFrontmatter('<!-- draft: {"a":1}\n---\n-->\n\n<!-- two -->\n---\na: 1\n---\nbody\n');
  assert.equal(split.frontmatter, 'a: 1\n');
  assert.equal(split.frontmatterLine, 7);
  assert.equal(split.bodyLine, 9);
});

test('a marker on the line of a comment, or indented, does not count', () => {
  assert.equal(splitFrontmatter('<!-- x --> ---\na: 1\n---\n').frontmatterLine, null);
  assert.equal(splitFrontmatter('  ---\na: 1\n---\n').frontmatterLine, null);
});

test('with an unclosed comment everything is body', () => {
  assert.equal(splitFrontmatter('<!-- x\n---\na: 1\n---\n').frontmatterLine, null);
});

test('allows only white space after a marker', () => {
  assert.equal(splitFrontmatter('--- \t\na: 1\n---  \nbody').frontmatter, 'a: 1\n');
  assert.equal(splitFrontmatter('---js\na: 1\n---\n').frontmatterLine, null);
  assert.equal(splitFrontmatter('----\na: 1\n----\n').frontmatterLine, null);
  assert.equal(splitFrontmatter('---\na: 1\n----\n---\nbody').frontmatter, 'a: 1\n----\n');
});

test('unclosed frontmatter is a problem, and the file is body', () => {
  const split = splitFrontmatter('---\na: 1\nbody\n');
  assert.equal(split.problem, 'unclosed');
  assert.equal(split.frontmatter, '');
  assert.equal(split.body, '---\na: 1\nbody\n');
  assert.equal(splitFrontmatter('---').problem, 'unclosed');
});

test('a closing marker may end the file', () => {
  assert.deepEqual(splitFrontmatter('---\na: 1\n---'), {
    frontmatter: 'a: 1\n',
    frontmatterLine: 2,
    body: '',
    bodyLine: 3,
  });
});

test('splits 1 MB of any kind in linear time', () => {
  // A quadratic search would need hours for it.
  const size = 1024 * 1024;
  for (const unit of ['-', '---', '--- ', '<!--', '<!-- -->', '\n', '---x\n', ' ', '\r']) {
    const text = unit.repeat(Math.ceil(size / unit.length));
    for (const prefix of ['', '---\n', '\ufeff', '<!--']) {
      assert.ok(splitFrontmatter(prefix + text), JSON.stringify(prefix + unit));
    }
  }
});
