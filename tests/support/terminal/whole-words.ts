import assert from 'node:assert/strict';
import { keepScreen } from '../screenshots.ts';
import type { ShownLine } from './shown-rows.ts';

/** What a terminal shows, and the folder of the test, whose name differs from one to the next. */
export interface Shown {
  readonly dir: string;
  readonly lines: readonly ShownLine[];
}

export const texts = (lines: readonly ShownLine[]): string[] => lines.map(({ text }) => text);

/**
 * Asserts that at 80 and 120 columns no line breaks inside a word. Lines break elsewhere at the other width: a word whose
 * parts stand on two lines at one of them is whole at the other.
 */
export async function assertWholeWords(
  name: string,
  shows: RegExp,
  shown: (columns: number) => Promise<Shown>,
): Promise<void> {
  const [narrow, wide] = [await shown(80), await shown(120)];
  assert.match(texts(wide.lines).join(' ').replaceAll(/\s+/g, ' '), shows);
  for (const [columns, { lines }] of [[80, narrow] as const, [120, wide] as const]) {
    keepScreen(`${columns}-${name.replace(/[^a-z0-9]+/g, '-')}`, texts(lines).join('\n'));
    // A single word that is longer than the line can stand nowhere.
    const broken = lines.filter((line) => line.broken && /\S\s+\S/.test(line.text));
    assert.deepEqual(texts(broken), [], `wider than ${columns} columns`);
  }
  assert.deepEqual(wordsOfOne(narrow, wide), [], 'words at 80 columns that 120 columns do not show whole');
}

/**
 * Words that a narrow terminal shows and a wide one does not, and that are parts of a word there, or whose parts are words
 * there. Others are of a moment that only one of them has shown, such as a state of the loop that lasts an instant.
 */
export function wordsOfOne(narrow: Shown, wide: Shown): string[] {
  const known = new Set(words(wide));
  const isPart = (word: string): boolean =>
    [...known].some((whole) => whole !== word && (whole.startsWith(word) || whole.endsWith(word)));
  const hasParts = (word: string): boolean =>
    [...word].some((_, at) => at > 0 && known.has(word.slice(0, at)) && known.has(word.slice(at)));
  return words(narrow).filter((word) => !known.has(word) && !word.endsWith('…') && (isPart(word) || hasParts(word)));
}

/** Words as they are in any run: without folders of the test, identifiers, times, figures and bars. */
function words({ dir, lines }: Shown): string[] {
  return (
    texts(lines)
      .join('\n')
      .replaceAll(dir, 'DIR')
      .replace(/ralph-test-\w+/g, 'TEST')
      .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b/g, '#')
      .replace(/\d+(?:m?s|m|h)\b/g, '0')
      .replace(/\d+/g, '0')
      .replace(/[\u2588-\u258f]+/g, '')
      .toLowerCase()
      .split(/\s+/)
      // A command that ends at once has no time behind it: figures alone are no part of a word.
      .filter((word) => /[^\d().,]/.test(word))
  );
}
