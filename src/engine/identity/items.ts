/** Item of a list as it stands in a file. */
interface Item {
  /** Its first line. */
  readonly text: string;
  readonly paragraph: string;
}

interface Former {
  readonly text: string;
  readonly words: string;
}

interface Current extends Former {
  readonly whole: string;
}

interface Pairing {
  /** Former items that are not recognised. */
  readonly missing: readonly Former[];
  /** Current items that are none of the former ones. */
  readonly added: readonly Current[];
}

export interface ItemComparison {
  readonly missing: readonly string[];
  /** First lines of all items that the file has had. */
  readonly known: readonly string[];
}

const MOST_KEPT = 500;

/**
 * Compares the items that a list has had, by their first lines, with those that it has now. An item is recognised by its
 * words, wherever it is now: marks, case and final punctuation do not matter, notes may be added to it, and one at its end
 * may be replaced. Each current item stands for one former item only, so that one cannot replace several.
 */
export function compareItems(known: readonly string[], now: readonly Item[]): ItemComparison {
  const current = now.map(({ text, paragraph }) => ({ text, words: wordsOf(text), whole: wordsOf(paragraph) }));
  let pairing = pairEqual(
    known.map((text) => ({ text, words: wordsOf(text) })),
    current,
  );
  for (const isSame of RULES) pairing = pairBy(pairing, isSame);
  const { missing, added } = pairing;
  const names = added.map(({ text }) => text.slice(0, MOST_KEPT));
  return { missing: missing.map(({ text }) => text), known: names.length === 0 ? known : [...known, ...names] };
}

function pairEqual(former: readonly Former[], current: readonly Current[]): Pairing {
  const byWords = new Map<string, Current[]>();
  for (const item of [...current].reverse()) {
    const same = byWords.get(item.words);
    if (same === undefined) byWords.set(item.words, [item]);
    else same.push(item);
  }
  const missing = former.filter(({ words }) => byWords.get(words)?.pop() === undefined);
  const left = new Set([...byWords.values()].flat());
  return { missing, added: current.filter((item) => left.has(item)) };
}

/** How an item is recognised that does not have the same words, the closest first. */
const RULES: readonly ((former: Former, item: Current) => boolean)[] = [
  ({ words }, { whole }) => whole.startsWith(words) && isWordEnd(whole, words.length),
  ({ words }, { whole }) => hasWords(whole, words),
  ({ words }, { whole }) => hasWords(whole, withoutNote(words)),
];

/** Number of comparisons up to which a rule is tried: a list of thousands of changed items is a new list. */
const MOST_COMPARISONS = 1_000_000;

function pairBy({ missing, added }: Pairing, isSame: (former: Former, item: Current) => boolean): Pairing {
  if (missing.length * added.length > MOST_COMPARISONS) return { missing, added };
  // The longest text has the fewest candidates, and the shortest candidate is the closest one.
  const left = new Set([...added].sort((a, b) => a.whole.length - b.whole.length));
  const found = new Set<Former>();
  for (const former of [...missing].sort((a, b) => b.words.length - a.words.length)) {
    for (const item of left) {
      if (!isSame(former, item)) continue;
      left.delete(item);
      found.add(former);
      break;
    }
  }
  return { missing: missing.filter((former) => !found.has(former)), added: added.filter((item) => left.has(item)) };
}

/** Returns a text without Markdown marks, link targets, case and final punctuation; the text itself if nothing remains. */
function wordsOf(text: string): string {
  const words = text
    .normalize()
    .toLowerCase()
    .replace(/!?\[([^[\]]*)\]\([^()\s]*\)/g, '$1')
    .replace(/[*_`~]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  let end = words.length;
  while (end > 0 && '.,;:!?… '.includes(words.charAt(end - 1))) end -= 1;
  return words.slice(0, end) || text;
}

/** Returns words without a note at their end, in parentheses or behind a dash or an arrow. */
function withoutNote(words: string): string {
  return words.replace(/ ?\([^()]*\)$| (?:—|–|--|→|->|=>) .*$/, '') || words;
}

function hasWords(whole: string, words: string): boolean {
  for (let at = whole.indexOf(words); at !== -1; at = whole.indexOf(words, at + 1))
    if (isWordEnd(whole, at - 1) && isWordEnd(whole, at + words.length)) return true;
  return false;
}

function isWordEnd(text: string, at: number): boolean {
  return !/[\p{L}\p{N}]/u.test(text.charAt(at));
}
