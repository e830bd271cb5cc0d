import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLinear } from '../../../support/linear.ts';

const WORK = new URL('support/markdown-work.ts', import.meta.url);

const PARTS = {
  'unclosed comments': 'a <!-- ',
  'comments on lines of their own': '<!--\n',
  'comments beside blank lines': 'a <!--\n\n',
  'backticks beside comments': '`a ``b <!-- c --> ',
  'items on one line': '- + ',
  'fences in items': '- ```\n  a\n',
  'quotes and prose': '> a\nb\n',
  headings: '# a\n=\n',
};

for (const [what, part] of Object.entries(PARTS)) {
  test(`reads Markdown in linear time: ${what}`, () => {
    assert.equal(isLinear(WORK, 'readMarkdown', part), true);
  });
}

test('control: a reader that searches the rest for the end of each comment is not linear', () => {
  assert.equal(isLinear(WORK, 'readQuadratically', 'a <!-- '), false);
});
