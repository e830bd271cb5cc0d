import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTaskListItemFromMarkdown } from 'mdast-util-gfm-task-list-item';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';
import { compareItems, textsOf } from '../../src/engine/identity/items.ts';
import { checklistItems, unreadBoxes } from '../../src/text/markdown/lists.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = { numRuns: runs(3_000), includeErrorInReport: true };

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
      ...['- [ ]', '- [x]', '- plain', '1. plain', '- [ ]open', '- [xy] odd', '- - [ ] twice', '- 1. [x] twice'],
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

/** Texts of items, some of which are others with a note, or the same in other words. */
const words = fc.constantFrom(
  'write the parser',
  'write',
  'the parser',
  'parse',
  'C++',
  'C',
  '🚀',
  'a (b)',
  'write the parser (twice)',
);
const item = fc.record({ text: words, checked: fc.boolean(), depth: fc.constantFrom('', '  ') });
const items = fc.array(item, { maxLength: 12 });
type Item = { readonly text: string; readonly checked: boolean; readonly depth: string };
const written = (list: readonly Item[]): string =>
  list.map(({ text, checked, depth }, at) => `${at === 0 ? '' : depth}- [${checked ? 'x' : ' '}] ${text}`).join('\n');

test('any list holds itself, in any order, with other marks, notes and emphasis', () => {
  const change = fc.constantFrom(
    (text: string) => text,
    (text: string) => `**${text}**`,
    (text: string) => `${text}: done in abc123`,
    (text: string) => `${text.toUpperCase()}.`,
    (text: string) => `✅ ${text}`,
    (text: string) => `[${text}](https://a.b/c)`,
    (text: string) => `~~${text}~~ not needed`,
    (text: string) => `${text}\n  in two lines`,
  );
  fc.assert(
    fc.property(
      items.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }), change)),
      ([list, shuffled, changed]) => {
        const known = textsOf(checklistItems(written(list)));
        assert.equal(known.length, list.length);
        const now = checklistItems(
          written(shuffled.map((one) => ({ ...one, checked: true, text: changed(one.text) }))),
        );
        assert.deepEqual(compareItems(known, now).missing, []);
      },
    ),
    RUNS,
  );
});

test('at least as many items are missing as there are fewer, and a list that is put back has them all', () => {
  fc.assert(
    fc.property(items, items, (list, other) => {
      const known = textsOf(checklistItems(written(list)));
      const after = compareItems(known, checklistItems(written(other)));
      assert.ok(after.missing.length >= list.length - other.length);
      assert.equal(after.missing.length + after.found.length, known.length, 'nothing is forgotten');
      const all = [...known, ...textsOf(after.added)];
      const back = compareItems(all, checklistItems(written([...list, ...other])));
      assert.deepEqual(back.missing, []);
      assert.equal(compareItems(all, checklistItems('')).missing.length, all.length);
    }),
    RUNS,
  );
});

test('a line is an item, looks like one, or neither, but never both', () => {
  const box = fc.constantFrom(
    ...['[ ]', '[x]', '[X]', '[~]', '[]', '[ x ]', '[xx]', '[a]', '[✔️]', '\\[ \\]', '[x](u)', '[x]:', '**[ ]**', '☐'],
  );
  const marker = fc.constantFrom('- ', '-', '* ', '1. ', '1.', '', '## ', '> ', '• ', '- - ', '| ');
  const line = fc.tuple(marker, box, fc.constantFrom(' ', '', '* ', '\t'), fc.constantFrom('text', '*text*'));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      const text = lines.map((parts) => parts.join('')).join('\n\n');
      const found = new Set(checklistItems(text).map(({ line: at }) => at));
      for (const { line: at } of unreadBoxes(text)) assert.ok(!found.has(at), text);
    }),
    RUNS,
  );
});

// Squared, each would take hours. The time limit is for that, and no measure of speed.
for (const [name, text] of Object.entries({
  'items that are all new': Array.from({ length: 60_000 }, (_, at) => `- [ ] ${at} a b c`).join('\n'),
  'one item of blanks and brackets': `- [ ] a${'[ ('.repeat(300_000)}`,
  'one item of many parentheses': `- [ ] a ${'(b) '.repeat(200_000)}`,
}))
  test(`compares a megabyte with another one: ${name}`, { timeout: 60_000 }, () => {
    const known = textsOf(checklistItems(text));
    const now = checklistItems(text.replaceAll('a', 'z').replaceAll('b', 'y'));
    assert.ok(compareItems(known, now).missing.length > 0);
  });
