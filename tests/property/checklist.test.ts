import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTaskListItemFromMarkdown } from 'mdast-util-gfm-task-list-item';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';
import { checklistItems } from '../../src/text/markdown/checklist.ts';
import fc from '../support/property.ts';

const RUNS = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 3_000), includeErrorInReport: true };

interface Node {
  readonly type: string;
  readonly checked?: boolean | null;
  readonly position?: { readonly start: { readonly line: number } } | undefined;
  readonly children?: readonly Node[];
}

/** The boxes as the reference parser sees them, but for those in block quotes. */
function reference(text: string): { line: number; checked: boolean }[] {
  const found: { line: number; checked: boolean }[] = [];
  const visit = (node: Node): void => {
    if (node.type === 'blockquote') return;
    if (node.type === 'listItem' && typeof node.checked === 'boolean') {
      found.push({ line: node.position?.start.line ?? 0, checked: node.checked });
    }
    for (const child of node.children ?? []) visit(child);
  };
  visit(
    fromMarkdown(text, {
      extensions: [gfmTaskListItem()],
      mdastExtensions: [gfmTaskListItemFromMarkdown()],
    }) as unknown as Node,
  );
  return found;
}

const line = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 8),
    fc.constantFrom(
      ...['- [ ] open', '- [x] done', '* [X] done', '+ [ ] open', '1. [ ] open', '1) [x] done'],
      ...['- [ ]', '- [x]', '- plain', '1. plain', '- [ ]open', '- [y] odd', '- - [ ] twice', '- 1. [x] twice'],
      ...['-   [ ] wide', '-     [ ] code', '-\t[x] tab', '- [ ]\topen', '- [ ] `code`', '- [ ] **bold**'],
      ...['text', '[ ] no item', '# Heading', '## [ ] heading', '---', '***', '===', '```', '~~~', '````', '```js'],
      ...['> quote', '> - [ ] quoted', '- > [ ] quoted', '<!-- one line -->', '', '', ''],
    ),
  )
  // Below an item's text these underline it: a heading in an item, which nobody writes and no box begins.
  .map(([indent, text]) => (['', '---', '===', '<!-- one line -->'].includes(text) ? text : ' '.repeat(indent) + text));

const document = fc.array(line, { maxLength: 14 }).map((lines) => lines.join('\n'));

test('a checklist has the boxes that the reference parser finds', () => {
  fc.assert(
    fc.property(document, (text) => {
      const ours = checklistItems(text).map(({ line: at, checked }) => ({ line: at, checked }));
      assert.deepEqual(ours, reference(text), JSON.stringify(text));
    }),
    RUNS,
  );
});
