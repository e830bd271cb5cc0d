import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { scratch } from '../../../support/faults/bundle-state.ts';
import { growthProgram, isLinear } from '../../../support/growth.ts';

const { directory, remove } = scratch('memory');
let work: string;
before(async () => {
  work = await growthProgram(directory, '../unit/text/markdown/support/markdown-work.ts');
});
after(remove);

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
    assert.equal(isLinear(work, 'readMarkdown', part), true);
  });
}

for (const tag of ['<tr ', '<td '])
  test(`reads tables in HTML in linear time: ${tag}`, () => {
    assert.equal(isLinear(work, 'readRows', tag), true);
  });

test('control: a reader that searches the rest for the end of each comment is not linear', () => {
  // Each round takes it the time of a whole test, and says the same.
  assert.equal(isLinear(work, 'readQuadratically', 'a <!-- ', 5), false);
});
