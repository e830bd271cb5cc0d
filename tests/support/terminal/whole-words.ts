import assert from 'node:assert/strict';
import { keepScreen } from '../screenshots.ts';
import type { ShownLine } from './shown-rows.ts';

/** What a terminal shows, and the folder of the test, whose name differs from one to the next. */
export interface Shown {
  readonly dir: string;
  readonly lines: readonly ShownLine[];
}

export const texts = (lines: readonly ShownLine[]): string[] => lines.map(({ text }) => text);

/** Asserts that at 80 and 120 columns no line breaks inside a word of what a very wide terminal shows. */
export async function assertWholeWords(
  name: string,
  shows: RegExp,
  shown: (columns: number) => Promise<Shown>,
): Promise<void> {
  const wide = await shown(WIDE);
  assert.match(texts(wide.lines).join('\n'), shows);
  const known = new Set(words(wide));
  for (const columns of [80, 120]) {
    const narrow = await shown(columns);
    keepScreen(`${columns}-${name.replace(/[^a-z0-9]+/g, '-')}`, texts(narrow.lines).join('\n'));
    // A single word that is longer than the line can stand nowhere.
    const broken = narrow.lines.filter((line) => line.broken && /\S\s+\S/.test(line.text));
    assert.deepEqual(texts(broken), [], `wider than ${columns} columns`);
    const parts = words(narrow).filter((word) => !known.has(word) && !word.endsWith('…'));
    assert.deepEqual(parts, [], `parts of words at ${columns} columns`);
  }
}

const WIDE = 2_000;

/** Words as they are in any run: without folders of the test, identifiers, times, figures and bars. */
function words({ dir, lines }: Shown): string[] {
  return texts(lines)
    .join('\n')
    .replaceAll(dir, 'DIR')
    .replace(/ralph-test-\w+/g, 'TEST')
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b/g, '#')
    .replace(/\d+(?:m?s|m|h)\b/g, '0')
    .replace(/\d+/g, '0')
    .replace(/[\u2588-\u258f]+/g, '')
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean);
}
