import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePattern, patternText } from '../../../src/text/pattern.ts';

for (const [pattern, spelling] of [
  ['[[:alpha:]]', /\[:alpha:\] is not supported: write the characters, such as A-Za-z/],
  ['[a[:digit:]b[c]', /\[:digit:\] is not supported/],
  ['[]a[b]', /cannot begin with \]: write \\\]$/],
  ['[^]a[b]', /cannot begin with \]: write \\\]$/],
  ['\\Qa.b\\E', /put a backslash before each special character/],
  ['\\Agit', /write \^$/],
  ['git\\z', /write \$$/],
  ['a\\-b', /\\- is not supported: write -$/],
  ['\\"', /write "$/],
  ['[\\"]', /write "$/],
  ['\\pL', /write it in braces/],
  ['(?i)\\P{L}', /not supported under \(\?i\)/],
  ['[\\P{L}]', /or in brackets/],
  ['\\x{41}', /write \\x and two digits/],
  ['\\141', /write \\x and two digits/],
  ['a{', /write \\\{$/],
  ['a}', /write \\\}$/],
  ['a]', /write \\\]$/],
  ['{,2}', /write \\\{$/],
  ['(?P<n>a)', /write \(\?:…\)$/],
  ['(?i:a)', /only at the beginning/],
  ['a(?s).', /only at the beginning/],
  ['(?U)a', /only at the beginning/],
] as const) {
  test(`${pattern} is refused with the spelling to use`, () => {
    assert.throws(() => compilePattern(pattern), { name: 'SyntaxError', message: spelling });
  });
}

for (const pattern of [
  'git\\s+push',
  '^rm -rf \\/',
  '[\\-\\]^]',
  'a{2,3}?',
  '\\{x\\}',
  '(?<n>a|b)',
  '\\p{Lu}\\x41',
  '(?:a)\\/',
]) {
  test(`${pattern} is used as it is`, () => {
    assert.equal(compilePattern(pattern).source, pattern);
  });
}

test('leading flags apply to the whole pattern, each once', () => {
  const { source, flags } = compilePattern('(?im)(?si)a|b');
  assert.deepEqual([source, flags], ['a|b', 'imsu']);
});

test('a whole match ends with the text, even if (?m) gives ^ and $ to every line', () => {
  assert.equal(compilePattern('(?m)^echo a$', true).test('echo a'), true);
  assert.equal(compilePattern('(?m)^echo a$', true).test('echo a\nrm b'), false);
  assert.equal(compilePattern('echo|rm b', true).test('echo; rm b'), false);
});

test('white space unknown to RE2 becomes a space for patterns', () => {
  assert.equal(patternText('a\rb\u2028c\vd\u00a0e\tf\ng'), 'a b c d e\tf\ng');
  assert.equal(compilePattern('git.*push').test(patternText('git\rx\u2029push')), true);
});
