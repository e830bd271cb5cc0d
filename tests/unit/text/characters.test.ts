import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { readQuestions } from '../../../src/engine/identity/questions.ts';
import { firstWordAt, hasWord } from '../../../src/text/characters.ts';
import { binaryText } from '../../support/property.ts';

test('finds the first letter or digit where the Unicode class finds it', () => {
  const text = fc.oneof(binaryText(), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(text, (some) => {
      const found = /[\p{L}\p{N}]/u.exec(some)?.index ?? some.length;
      assert.equal(firstWordAt(some), found);
      assert.equal(hasWord(some), found < some.length);
    }),
  );
});

const headings = [
  ['# P0', 'P0'],
  ['# ** P1 **: later', 'P1'],
  ['# P1 / P0', 'P0'],
  ['# P0/P12', 'P0'],
  ['# P2/P0', null],
  ['# P0x', null],
  ['# P10', null],
  ['# P0𝐀', null],
] as const;
for (const [heading, section] of headings) {
  test(`reads ${heading} as ${section ?? 'no section'}`, () => {
    assert.equal(readQuestions(`${heading}\n\n- Which one?\n`).questions[0]?.section, section);
  });
}
