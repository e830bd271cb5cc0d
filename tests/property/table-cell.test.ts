import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { codeCell } from '../../src/drive/parallel/proved-text.ts';
import { redact } from '../../src/text/redact/redact.ts';
import { binaryText } from '../support/property.ts';

/** Returns the kinds of what a cell is read as, and its text. */
function read(cell: string): readonly [readonly string[], string] {
  const [paragraph, ...more] = fromMarkdown(cell).children;
  assert.ok(paragraph?.type === 'paragraph' && more.length === 0, cell);
  const { children } = paragraph;
  const text = children.map((one) => (one.type === 'text' ? one.value : '')).join('');
  return [children.map((one) => (one.type === 'html' ? one.value : one.type)), text];
}

const PARTS = ['|', '\\', '`', '<', '>', '@', '#1', '&', '&#124;', '*', '_', '~', '[', '](', '$', 'a', ' ', '\n'];
const WORDS = ['</code>', '<!--', '@octo/team', 'http://x.invalid', 'www.x.invalid', "grep 'a\\|b'", 'a@b.invalid'];
/** What starts a link, a mention, an issue, markup or a border wherever it stands. */
const LIVE = /[|\\`@*_~[\]$!]|&(?!#)|#(?!\d+;)|(?<!&#\d+);|:|www\./;

test('each text is one cell of a table, and all of it code', () => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...PARTS, ...WORDS), binaryText()), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(texts, (parts) => {
      const text = `x${parts.join('')}x`.slice(0, 199);
      const cell = codeCell(text);
      assert.doesNotMatch(cell.replace(/^<code>|<\/code>$/g, ''), LIVE);
      const shown = redact(text)
        .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu, ' ')
        .replace(/\s+/g, ' ')
        .trim();
      assert.deepEqual(read(cell), [['<code>', 'text', '</code>'], shown]);
    }),
    { examples: [["grep 'a\\|b' @octo #1".split('')]] },
  );
});

test('control: between backticks, the border of a cell is live after a backslash', () => {
  const former = "`grep 'a\\|b'`".replace(/\|/g, '\\|');
  assert.match(former, LIVE);
  assert.notEqual(read(former)[1], "grep 'a\\|b'");
});
