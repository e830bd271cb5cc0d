import { compareItems, type Item, textsOf } from './items.ts';

/** Entry of a file that the agent writes. */
export interface Entry extends Item {
  readonly isOpen: boolean;
}

export interface Owed<T extends Entry> {
  /** First lines of entries that were seen open and are gone. */
  readonly missing: readonly string[];
  /** Entries that were seen open, are not open any more, and were not closed either. */
  readonly evaded: readonly T[];
  /** First lines of all entries that have been seen open and not yet closed. */
  readonly owed: readonly string[];
}

/**
 * Compares the entries that were seen open with those of now. What was once seen open has to be seen closed: an entry that is
 * missing, or neither open nor closed, is still owed. One that was closed may be removed.
 */
export function compareOwed<T extends Entry>(
  had: readonly string[],
  now: readonly T[],
  isClosed: (seen: string, entry: T) => boolean,
): Owed<T> {
  const { missing, found, added } = compareItems(had, now);
  const left = found.filter(({ text, item }) => item.isOpen || !isClosed(text, item));
  return {
    missing,
    evaded: left.map(({ item }) => item).filter(({ isOpen }) => !isOpen),
    owed: [...missing, ...left.map(({ text }) => text), ...textsOf(added.filter(({ isOpen }) => isOpen))],
  };
}
