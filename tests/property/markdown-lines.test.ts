import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { outsideComments } from '../../src/text/markdown/comments.ts';
import { lines } from '../../src/text/markdown/lines.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(3_000), includeErrorInReport: true };

interface Place {
  readonly inFence: boolean;
  readonly inQuote: boolean;
  readonly indentedCode: boolean;
  readonly listDepth: number;
  readonly level: number;
}

const NOWHERE: Place = { inFence: false, inQuote: false, indentedCode: false, listDepth: 0, level: 0 };

/** The places of the lines as the reference parser sees them, from 1. */
function reference(text: string): Place[] {
  const all = text.split('\n');
  const places = all.map(() => NOWHERE);
  const visit = (node: Nodes, outer: Place): void => {
    const { start, end } = node.position ?? { start: { line: 1, offset: 0 }, end: { line: all.length } };
    const isFence = node.type === 'code' && /^(?:`{3}|~{3})/.test(text.slice(start.offset));
    const place: Place = {
      inFence: isFence,
      inQuote: outer.inQuote || node.type === 'blockquote',
      indentedCode: node.type === 'code' && !isFence,
      listDepth: outer.listDepth + (node.type === 'listItem' ? 1 : 0),
      level: node.type === 'heading' ? node.depth : outer.level,
    };
    for (let number = start.line; number <= end.line; number++) places[number - 1] = place;
    if ('children' in node) for (const child of node.children) visit(child, place);
  };
  for (const node of fromMarkdown(text).children) visit(node, NOWHERE);
  return places;
}

const line = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 8),
    fc.constantFrom(
      ...['- item', '* item', '+ item', '1. item', '2. item', '1) item', '- - twice', '- 1. twice'],
      ...['-   wide', '-     code', '-\ttab', '- ```', '1. ~~~', '- # heading', '- ***', '- > quote'],
      ...['text', '# Heading', '###### Six', '####### seven', '#none', '***', '```', '~~~', '````', '```js', '``` `'],
      ...['> quote', '> - quoted', '>', '', '', '', '---', '==='],
    ),
  )
  // Below an item's text these underline it: a heading in an item, which nobody writes.
  .map(([indent, text]) => (['', '---', '==='].includes(text) ? text : ' '.repeat(indent) + text));

const document = fc.array(line, { maxLength: 14 }).map((all) => all.join('\n'));

test('each line has the position that the reference parser gives it', () => {
  fc.assert(
    fc.property(document, (text) => {
      const expected = reference(text);
      let isBelowCode = false;
      for (const { raw, number, content, ...line } of lines(text)) {
        const place = expected[number - 1] ?? NOWHERE;
        // micromark takes indented code for a paragraph, which only a list that begins with 1 may interrupt.
        if (isBelowCode && /^\s*2\./.test(raw)) break;
        isBelowCode = line.indentedCode || (isBelowCode && raw === '');
        // A line may continue a quote without its mark, and blank lines belong to what is around them.
        if (raw.trim() === '' || (place.inQuote && !line.inQuote)) continue;
        const { inFence, inQuote, indentedCode, listDepth, heading } = line;
        const level = heading === null || heading.isUnderline ? 0 : heading.level;
        const ours: Place = { inFence, inQuote, indentedCode, listDepth, level };
        const isTitle = level === 0 && place.level > 0;
        const theirs = place.inQuote || isTitle ? { ...place, level: 0 } : place;
        const shown = `${JSON.stringify(text)}, line ${number}`;
        assert.deepEqual(place.inQuote ? { ...ours, listDepth: place.listDepth } : ours, theirs, shown);
      }
    }),
    RUNS,
  );
});

const fragment = fc.constantFrom(
  ...[
    '<!--',
    '-->',
    '<!-- a -->',
    '`',
    '``',
    '```',
    '~~~',
    '- ',
    '> ',
    '    ',
    '\t',
    'a',
    ' ',
    '# ',
    '\n',
    '\n\n',
    '\r\n',
    '\r',
  ],
);
const anyText = fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join(''));

test('the raw lines are the text, and what is outside comments appears in it in order', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const all = [...lines(text)];
      assert.deepEqual(
        all.map(({ raw }) => raw),
        text.split(/\r\n|[\n\r]/),
      );
      assert.deepEqual(
        all.map(({ number }) => number),
        all.map((_, index) => index + 1),
      );
      for (const { text: kept, at } of outsideComments(text)) assert.equal(text.slice(at, at + kept.length), kept);
      for (const { comments } of all)
        for (const { start, end } of comments) assert.match(text.slice(start, end), /^<!--(?:-?>|.*-->)$/s);
    }),
    RUNS,
  );
});

test('a text without the end of a comment loses nothing', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const open = text.replace(/-+>/g, '=');
      assert.deepEqual(
        [...lines(open)].map((line) => line.text),
        [...lines(open)].map(({ raw }) => raw),
      );
    }),
    RUNS,
  );
});
