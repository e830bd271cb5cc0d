import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { scratch } from '../../../support/faults/bundle-state.ts';
import { growthProgram, isLinear } from '../../../support/growth.ts';

const { directory, remove } = scratch('memory');
let work: string;
before(async () => {
  work = await growthProgram(directory, '../../src/text/redact/redact.ts');
});
after(remove);

// The growth of a reader that is not linear is tested with the reader of Markdown.
for (const part of ['oracle:thin:a/b', 'password=a,', 'token=id=', 'token=your-']) {
  test(`Masks in linear time: ${part}`, () => assert.equal(isLinear(work, 'redact', part), true));
}
