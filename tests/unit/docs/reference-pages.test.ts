import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { referencePages } from '../../tools/build-docs.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

test('commands.md, configuration.md, hosts.md and clients.md match what `npm run docs` writes', async () => {
  const pages = await referencePages();
  assert.equal(pages.length, 4);
  for (const [path, text] of pages) {
    assert.equal(readFileSync(join(root, path), 'utf8'), text, `${path} is out of date: run npm run docs`);
  }
});

for (const [path, most] of [
  ['README.md', 1_300],
  ['docs/guide.md', 900],
] as const) {
  test(`${path} has at most ${most} words`, () => {
    const words = readFileSync(join(root, path), 'utf8').trim().split(/\s+/).length;
    assert.ok(words <= most, `${path} has ${words} words`);
  });
}
