import { hasWord } from '../../text/characters.ts';
import type { ChecklistCount, ChecklistItem } from '../../text/markdown/lists.ts';
import { checklistItems, countChecklist, unreadBoxes } from '../../text/markdown/lists.ts';

/** Item of a list as it stands in a file. */
export interface Item {
  /** Its first line. */
  readonly text: string;
  readonly paragraph: string;
}

interface ItemComparison<T extends Item> {
  /** First lines of former items that are gone. */
  readonly missing: readonly string[];
  /** Former items by their first lines, each with the current item that it became. */
  readonly found: readonly { readonly text: string; readonly item: T }[];
  /** Current items that match no former one. */
  readonly added: readonly T[];
}

interface Former {
  readonly text: string;
  readonly words: string;
}

interface Current<T> {
  readonly item: T;
  readonly words: string;
  readonly whole: string;
}

interface Pairing<T> {
  readonly found: ReadonlyMap<Former, Current<T>>;
  readonly missing: readonly Former[];
  readonly added: readonly Current<T>[];
}

/**
 * Compares the items that a list has had, by their first lines, with its current ones. An item is recognised by its words,
 * wherever it is now: marks, case and final punctuation do not matter, and a note at its end may be added or replaced.
 * Each current item matches one former item only, so that one cannot replace several.
 */
export function compareItems<T extends Item>(had: readonly string[], now: readonly T[]): ItemComparison<T> {
  const former = had.map((text) => ({ text, words: wordsOf(text) }));
  const current = now.map((item) => ({ item, words: wordsOf(item.text), whole: wordsOf(item.paragraph) }));
  let pairing: Pairing<T> = pairEqual(former, current);
  for (const isSame of RULES) pairing = pairBy(pairing, isSame);
  const { missing, found, added } = pairing;
  return {
    missing: missing.map(({ text }) => text),
    found: [...found].map(([{ text }, { item }]) => ({ text, item })),
    added: added.map(({ item }) => item),
  };
}

const MOST_KEPT = 500;

/** Returns the first lines of items, the form in which they are remembered. */
export function textsOf(items: readonly Item[]): string[] {
  return items.map(({ text }) => text.slice(0, MOST_KEPT));
}

/** Returns whether an item says no more than its first line did when last seen. */
export function saysNoMore(text: string, { paragraph }: Item): boolean {
  return saysNothing(wordsOf(paragraph).replaceAll(wordsOf(text), ' '));
}

/** Returns whether a text has no words, or only defers what it should say. */
export function saysNothing(text: string): boolean {
  if (!hasWord(text)) return true;
  return /^[^\p{L}\p{N}]*(?:tbd|tba|todo|pending|later|unanswered|to be (?:decided|determined|defined|answered))[^\p{L}\p{N}]*$/iu.test(
    text,
  );
}

function pairEqual<T>(former: readonly Former[], current: readonly Current<T>[]): Pairing<T> {
  const byWords = new Map<string, Current<T>[]>();
  for (const item of [...current].reverse()) {
    const same = byWords.get(item.words);
    if (same === undefined) byWords.set(item.words, [item]);
    else same.push(item);
  }
  const found = new Map<Former, Current<T>>();
  for (const one of former) {
    const item = byWords.get(one.words)?.pop();
    if (item !== undefined) found.set(one, item);
  }
  const left = new Set([...byWords.values()].flat());
  return { found, missing: former.filter((one) => !found.has(one)), added: current.filter((item) => left.has(item)) };
}

type Rule = (former: Former, item: Pick<Current<unknown>, 'whole'>) => boolean;

/** Rules that recognise an item whose words have changed, the closest first. */
const RULES: readonly Rule[] = [
  ({ words }, { whole }) => whole.startsWith(words) && isWordEnd(whole, words.length),
  ({ words }, { whole }) => hasWords(whole, words),
  ({ words }, { whole }) => hasWords(whole, withoutNote(words)),
];

/** Most comparisons for which a rule is tried: a list of thousands of changed items is a new list. */
const MOST_COMPARISONS = 1_000_000;

function pairBy<T>(before: Pairing<T>, isSame: Rule): Pairing<T> {
  const { missing, added } = before;
  if (missing.length * added.length > MOST_COMPARISONS) return before;
  // The longest text has the fewest candidates, and the shortest candidate is the closest one.
  const left = new Set([...added].sort((a, b) => a.whole.length - b.whole.length));
  const found = new Map(before.found);
  for (const former of [...missing].sort((a, b) => b.words.length - a.words.length)) {
    for (const item of left) {
      if (!isSame(former, item)) continue;
      left.delete(item);
      found.set(former, item);
      break;
    }
  }
  return {
    found,
    missing: missing.filter((former) => !found.has(former)),
    added: added.filter((item) => left.has(item)),
  };
}

/** Returns a text without Markdown marks, link targets, quotes, case and final punctuation; the text itself if nothing remains. */
function wordsOf(text: string): string {
  const words = text
    .normalize()
    .toLowerCase()
    .replace(/!?\[([^[\]]*)\]\([^()\s]*\)/g, '$1')
    .replace(/[\\*_`~"'“”„‟‘’‚«»]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  let end = words.length;
  while (end > 0 && '.,;:!?… '.includes(words.charAt(end - 1))) end -= 1;
  return words.slice(0, end) || text;
}

/** Returns words without a note at their end, in parentheses or after a dash or an arrow. */
function withoutNote(words: string): string {
  return words.replace(/ ?\([^()]*\)$| (?:—|–|--|→|->|=>) .*$/, '') || words;
}

function hasWords(whole: string, words: string): boolean {
  for (let at = whole.indexOf(words); at !== -1; at = whole.indexOf(words, at + 1))
    if (isWordEnd(whole, at - 1) && isWordEnd(whole, at + words.length)) return true;
  return false;
}

function isWordEnd(text: string, at: number): boolean {
  return !hasWord(text.charAt(at));
}

/** A checklist, compared with the items that it has had. */
export interface ChecklistStand extends ChecklistCount {
  /** First lines of the items that are no longer there. */
  readonly missing: readonly string[];
  /** Lines that look like items but are not, with their line numbers in the file. */
  readonly unread: readonly { readonly line: number; readonly text: string }[];
}

export interface ComparedChecklist {
  readonly stand: ChecklistStand;
  readonly items: readonly ChecklistItem[];
  /** First lines of all items it has had. */
  readonly known: readonly string[];
}

/** Compares the checklist of a task file with the items it has had. `bodyLine`: line of the file where the body begins. */
export function compareChecklist(body: string, bodyLine: number, had: readonly string[]): ComparedChecklist {
  const inFile = <T extends { readonly line: number }>(place: T): T => ({ ...place, line: place.line + bodyLine - 1 });
  const items = checklistItems(body).map(inFile);
  const { missing, added } = compareItems(had, items);
  const known = added.length === 0 ? had : [...had, ...textsOf(added)];
  return { stand: { ...countChecklist(items), missing, unread: unreadBoxes(body).map(inFile) }, items, known };
}

/** Returns whether every item is checked, and none is missing or unread. */
export function isFinished({ done, total, missing, unread }: ChecklistStand): boolean {
  return total > 0 && done === total && missing.length === 0 && unread.length === 0;
}
