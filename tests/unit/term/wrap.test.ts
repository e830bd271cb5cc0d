import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { paintedCells, wrapText } from '../../../src/term/write-text.ts';
import fc from '../../support/property.ts';

/** Values as they stand in messages: a number, a path, a command that names the program by its path. */
const VALUES = [
  '3',
  'tasks/docs/RALPH.md',
  'node .claude/skills/ralph-loop/scripts/main.cjs resume docs',
  '日本語 テスト',
];

/** Every text of the program with at least two words, its parameters filled in. */
function messages(): string[] {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const found = sources.flatMap((path) => {
    const code = readFileSync(join('src', path), 'utf8').replace(/^ *(?:\/\*\*|\*|\/\/).*$/gm, '');
    return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)];
  });
  const texts = found.map(([, one, two, template], seed) => one ?? two ?? filled(template ?? '', seed));
  return texts.map((text) => text.replaceAll('\\n', '\n')).filter((text) => /[a-z]{2,}[,;:.]? [a-z]{2,}/i.test(text));
}

function filled(template: string, seed: number): string {
  let index = seed;
  return template.replace(/\$\{[^}]*\}/g, () => VALUES[index++ % VALUES.length] ?? '');
}

/** Returns the lines that break inside a word or are wider than the terminal although they have a place to break. */
function broken(text: string, columns: number): string[] {
  const rows = wrapText(text, columns).split('\n');
  const words = (of: string): string => of.split(/\s+/).filter(Boolean).join(' ');
  const wide = rows.filter((row) => paintedCells(row) > columns && /\S\s+\S/.test(row.trimEnd()));
  return words(rows.join('\n')) === words(text) ? wide : [text, ...wide];
}

for (const columns of [80, 120]) {
  test(`no message of the program breaks inside a word at ${columns} columns`, () => {
    const all = messages();
    assert.ok(all.length > 1_000, `only ${all.length} messages were found`);
    assert.ok(all.some((text) => paintedCells(text) > columns));
    assert.deepEqual(
      all.flatMap((text) => broken(text, columns)),
      [],
    );
  });
}

test('any text keeps its words, and no row is wider than the terminal except for one long word', () => {
  const word = fc.oneof(
    fc.stringMatching(/^[!-~]{1,30}$/),
    fc.constantFrom('漢字かな', '👩‍👩‍👧', '\u001b[31mred\u001b[39m'),
  );
  const text = fc.array(fc.tuple(fc.constantFrom(' ', '  ', '\n', '\n  - '), word), { maxLength: 60 });
  fc.assert(
    fc.property(text, fc.integer({ min: 30, max: 130 }), (parts, columns) => {
      assert.deepEqual(broken(parts.flat().join(''), columns), []);
    }),
  );
});

test('continuation rows are indented to the text of a list item or to the last column of a table', () => {
  assert.equal(wrapText('  - one two three', 11), '  - one two\n    three');
  assert.equal(wrapText('task  docs is a folder with much in it', 24), 'task  docs is a folder\n      with much in it');
  assert.equal(
    wrapText('10:48  iteration 1, all its figures  -> claimed', 40),
    '10:48  iteration 1, all its figures  ->\n       claimed',
  );
  assert.equal(wrapText('\u001b[1mabc def\u001b[22m ghi', 8), '\u001b[1mabc def\u001b[22m\nghi');
});

test('the blank behind a question is kept, so that the answer does not touch it', () => {
  assert.equal(wrapText('one two three: ', 9), 'one two\nthree: ');
});

test('a word that is too long for its column begins further left, and stays whole', () => {
  const hash = 'f'.repeat(64);
  const rows = (line: string): string[] => wrapText(line, 80).split('\n');
  assert.deepEqual(rows(`  script package.json#scripts.test  sha256 ${hash}`), [
    '  script package.json#scripts.test  sha256',
    `      ${hash}`,
  ]);
  assert.deepEqual(rows(`  task      ${'a/'.repeat(36)}RALPH.md`), ['  task', `      ${'a/'.repeat(36)}RALPH.md`]);
  assert.deepEqual(rows(`- ${'b'.repeat(90)}`), [`- ${'b'.repeat(90)}`], 'an item keeps its marker');
});
