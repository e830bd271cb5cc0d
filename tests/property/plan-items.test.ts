import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { type ItemLine, topItems } from '../../src/task/plan/task-fields.ts';
import { lines } from '../../src/text/markdown/lines.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(3_000), includeErrorInReport: true };

interface Item {
  readonly start: number;
  readonly text: string;
  readonly lines: readonly ItemLine[];
}

/** Lines of the paragraphs and headings in an item, as the reference parser sees them. */
function linesIn(text: string, item: Nodes): ItemLine[] {
  const found: ItemLine[] = [];
  const visit = (node: Nodes, depth: number, isFirst: boolean): void => {
    if (node.type === 'listItem')
      for (const [index, child] of node.children.entries()) visit(child, depth, index === 0);
    else if (node.type === 'list') for (const child of node.children) visit(child, depth + 1, true);
    else if (node.type === 'paragraph' || node.type === 'heading') {
      let at = node.position?.start.offset ?? 0;
      const source = text.slice(at, node.position?.end.offset);
      for (const [index, raw] of source.split('\n').entries()) {
        const begin = at + raw.length - raw.trimStart().length;
        const line = (node.position?.start.line ?? 0) + index;
        found.push({ text: raw.trim(), at: begin, line, depth, first: isFirst && index === 0 });
        at += raw.length + 1;
      }
    }
  };
  visit(item, 0, true);
  return found;
}

/** Inline constructs are switched off: a line of a paragraph is what it is in the text. */
const BLOCKS_ALONE = { disable: { null: ['attention', 'codeText', 'htmlText', 'labelEnd', 'definition'] } };

function reference(text: string): Item[] {
  return fromMarkdown(text, { extensions: [BLOCKS_ALONE] })
    .children.flatMap((node) => (node.type === 'list' ? node.children : []))
    .map((item) => {
      const { start, end } = item.position ?? assert.fail();
      // Behind code or HTML without an end, the mark of the next item belongs to this one.
      const source = text
        .slice(start.offset, end.offset)
        .replace(/\n *(?:[-*+]|1[.)])\s*$/, '')
        .trimEnd();
      return { start: start.offset ?? 0, text: source, lines: linesIn(text, item) };
    });
}

const ours = (text: string): Item[] =>
  topItems([...lines(text)]).map(({ start, end, lines }) => ({ start, text: text.slice(start, end).trimEnd(), lines }));

/** Items that have text: others are no tasks, and what looks like an item in raw HTML has none. */
const withText = (items: readonly Item[]): Item[] => items.filter(({ lines }) => lines.length > 0);

const indent = fc.constantFrom(0, 0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 8);
const task = fc
  .tuple(
    fc.constantFrom('- ', '* ', '+ ', '1. ', '1) ', '-   ', '-\t', '- - ', '- 1. ', '-     '),
    fc.constantFrom('[ ] ', '[x] ', '[X]\t', '[\t] ', '', '[] '),
    fc.constantFrom(
      '**Task 1: Add it**',
      'Task 2 - naïve 計画 🚀',
      '(blocked) T-3: `a`',
      'plain',
      '# Heading',
      '> quote\n',
    ),
  )
  .map((parts) => parts.join(''));
// What only one of the two reads as most people mean it is left out: a lazy line behind a quote, a comment or a rule that
// is indented too far, and `2.` behind indented code, which the reference takes for a paragraph.
const other = fc.constantFrom(
  ...['- Scope: `src`', '- Depends on: Task 1', '* Acceptance:', 'words', '# Heading', '## Task 4: x'],
  ...['> - [ ] **Task 9: quoted**\n', '\n<!-- - [ ] **Task 8: not now** -->', '\n<!--\n- [ ] a\n-->', '', '', '', ''],
);
const html = fc.constantFrom(
  ...['<details>', '</details>', '<div class="a">', '<h1>x</h1>', '\n<b>', '\n<my-tag a="b">', '<b> x', '<a@b.c>'],
  ...[
    '<pre>',
    '<script>x</script>',
    '\n</pre>',
    '<?php',
    '?>',
    '<!DOCTYPE html>',
    '<![CDATA[',
    ']]>',
    '- <div>',
    '- <pre>',
  ],
);
const fence = fc.constantFrom('```', '```', '~~~', '````', '```js', '- ```', '-   ~~~');
const document = (more: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  const line = fc
    .tuple(indent, fc.oneof(task, other, more))
    .map(([blanks, text]) => (text === '' ? '' : ' '.repeat(blanks) + text));
  return fc.array(line, { maxLength: 12 }).map((all) => all.join('\n'));
};

for (const [name, more] of Object.entries({ HTML: html, fences: fence }))
  test(`a plan with ${name} has the items that the reference parser finds, with their places and lines`, () => {
    fc.assert(
      fc.property(document(more), (text) => {
        assert.deepEqual(withText(ours(text)), withText(reference(text)), JSON.stringify(text));
      }),
      RUNS,
    );
  });
