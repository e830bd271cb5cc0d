import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuestions } from '../../src/engine/identity/questions.ts';
import fc, { runs } from '../support/property.ts';
import { IS_LONG } from '../support/short-form.ts';

const openQuestions = (text: string) =>
  readQuestions(text).questions.flatMap(({ isOpen, section, line, text: said }) =>
    isOpen ? [{ section, line, text: said }] : [],
  );

const RUNS = { numRuns: runs(2_000), includeErrorInReport: true };

const fragment = fc.constantFrom(
  ...['## P0', '# P1', 'P0', '===', '---', '- ', '* ', '1. ', '[x] ', '[ ] ', '[x]', '```', '~~~', '<!--', '-->', '> '],
  ...['  ', '    ', '\t', '\n', '\r\n', '\n\n', 'a', 'text', '\uFEFF', '\u2028', '\ud800', '*', '_'],
);
const anyText = fc.oneof(
  fc.string(),
  fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('')),
);

test('in any file, each open item has a text and a line with a list marker', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const lines = text.split(/\r\n|[\n\r]/);
      for (const { line, text: said } of openQuestions(text)) {
        assert.notEqual(said.trim(), '');
        assert.match(lines[line - 1] ?? '', /[-*+]|\d[.)]/);
      }
    }),
    RUNS,
  );
});

test('the same items are open whatever the line ends', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const plain = text.replace(/\r\n?/g, '\n');
      assert.deepEqual(openQuestions(plain.replace(/\n/g, '\r\n')), openQuestions(plain));
    }),
    RUNS,
  );
});

/** Lines whose meaning needs no Markdown to know. */
const simpleLine = fc.oneof(
  fc.record({ level: fc.integer({ min: 1, max: 4 }), title: fc.constantFrom('P0', 'P1 soon', 'P2', 'P10', 'Notes') }),
  fc.record({ box: fc.constantFrom('', '[ ] ', '[x] ', '[X] '), said: fc.constantFrom('', 'why', 'how much') }),
);

test('headings and flat items are read as written', () => {
  fc.assert(
    fc.property(fc.array(simpleLine, { maxLength: 30 }), (lines) => {
      const text = lines
        .map((line) => ('level' in line ? `${'#'.repeat(line.level)} ${line.title}` : `- ${line.box}${line.said}`))
        .join('\n');
      let open: { level: number; section: string }[] = [];
      const expected = lines.flatMap((line, index) => {
        if ('level' in line) {
          open = open.filter(({ level }) => level < line.level);
          const [section] = /^P[01]\b/.exec(line.title) ?? [];
          if (section !== undefined) open.push({ level: line.level, section });
          return [];
        }
        const counts = !/x/i.test(line.box) && line.said !== '' && open.length > 0;
        return counts ? [{ section: open.at(-1)?.section, line: index + 1, text: line.said }] : [];
      });
      assert.deepEqual(openQuestions(text), expected);
    }),
    RUNS,
  );
});

const SIZE = IS_LONG ? 2_000_000 : 400_000;
const long = (part: string): string => part.repeat(Math.ceil(SIZE / part.length));
const HOSTILE: Readonly<Record<string, string>> = {
  'items that begin on one line': `## P0\n${long('- + ')}`,
  'many open items and many lines of prose': `## P0\n${'- + '.repeat(SIZE / 8)}x\n${'a\n'.repeat(SIZE / 4)}`,
  'many open items and many flat ones': `## P0\n${'- + '.repeat(SIZE / 8)}x\n${'- a\n'.repeat(SIZE / 8)}`,
  'items that nest': `## P0\n${Array.from({ length: 1_400 }, (_, depth) => `${' '.repeat(depth)}- a`).join('\n')}`,
  'blanks before comments': `${' '.repeat(SIZE / 2)}${'<!-- -->'.repeat(SIZE / 16)}`,
  'comments that never end': `a ${long('<!-- ')}`,
  'a rule that is none': `${long('- ')}x`,
  'a heading of marks': `# ${long('*')}`,
  'a heading of blanks': `# P0${' '.repeat(SIZE)}x`,
  'fences that open and close': long('```\n'),
};

// Squared, each would take hours. The time limit is for that, and no measure of speed.
for (const [name, text] of Object.entries(HOSTILE)) {
  test(`reads hundreds of thousands of characters to the end: ${name}`, { timeout: 60_000 }, () => {
    assert.ok(Array.isArray(openQuestions(text)));
  });
}
