import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areQuick, leadingWord, nativeRegExp } from '../../../src/guard/commands/evaluate-rules.ts';
import fc from '../../support/fast-check.ts';

for (const [pattern, word, ignoreCase] of [
  ['git\\s+push', 'git', false],
  ['^rm -rf', 'rm', false],
  ['(?i)^DROP table', 'drop', true],
  ['gitx?', 'git', false],
  ['ab*', 'a', false],
  ['npm{2}', 'np', false],
  ['abc+', 'abc', false],
] as const) {
  test(`every match of ${pattern} contains ${word}`, () => {
    assert.deepEqual(leadingWord(pattern), { word, ignoreCase });
  });
}

for (const pattern of [
  'a|b',
  '(git) push',
  '\\bgit',
  '.git',
  '[g]it',
  'r*m',
  'rf x',
  'f',
  '',
  '(?i)sudo',
  '(?i)KILL',
  '(?s)git',
  '^^',
]) {
  test(`${pattern || 'the empty pattern'} begins with no word that is sure`, () => {
    assert.equal(leadingWord(pattern), null);
  });
}

const piece = fc.constantFrom(
  ...[
    'a',
    'b',
    'ab',
    'K',
    's',
    'é',
    ' ',
    '\\s',
    '.',
    '*',
    '+',
    '?',
    '{2}',
    '{0,1}',
    '|',
    '^',
    '$',
    '[ab]',
    '(a|b)',
    '\\b',
  ],
);
const pattern = fc
  .tuple(
    fc.constantFrom('', '', '(?i)', '^', '(?i)^'),
    fc.constantFrom('a', 'b', 'ab', 'aK', 'bs', 'bb'),
    fc.array(piece, { maxLength: 3 }),
  )
  .map(([head, word, pieces]) => head + word + pieces.join(''));
const character = fc.constantFrom('a', 'b', 'ab', 'A', 'B', 'bb', 'k', 'K', '\u212a', 's', '\u017f', 'é', ' ', '\n');
const text = fc.array(character, { maxLength: 8 });

test('no match is without the word that its pattern begins with', () => {
  let matches = 0;
  fc.assert(
    fc.property(pattern, text, (rule, characters) => {
      const leading = leadingWord(rule);
      const shown = characters.join('');
      let found: boolean;
      try {
        found = nativeRegExp(rule).test(shown);
      } catch (error) {
        if (error instanceof SyntaxError) return;
        throw error;
      }
      if (leading === null || !found) return;
      matches += 1;
      assert.ok((leading.ignoreCase ? shown.toLowerCase() : shown).includes(leading.word), `${rule} in ${shown}`);
    }),
    { numRuns: 20_000, seed: 20 },
  );
  assert.ok(matches > 300, `only ${matches} of the generated texts matched`);
});

test('patterns that can go back again and again are never quick', () => {
  for (const slow of ['(a+)+!', '(?:a|a)*!', 'a*a*a*a*!', '\\Q(\\Ea', '(?P<x>a)']) {
    assert.equal(areQuick([slow], 200), false, slow);
  }
});

test('what people write is quick for a command of a few hundred characters, and for a long one it is not', () => {
  const rules = ['git\\s+push', 'npm\\s+publish', '(?i)drop\\s+table', '^rm\\s+-rf\\s+/'];
  assert.equal(areQuick(rules, 90), true);
  assert.equal(areQuick(['git\\s+push'], 900), true);
  assert.equal(areQuick(['git\\s+push'], 100_000), false);
  assert.equal(
    areQuick(
      Array.from({ length: 100 }, () => 'git\\s+push'),
      900,
    ),
    false,
  );
});
