import {
  type ChecklistCount,
  type ChecklistItem,
  checklistItems,
  countChecklist,
} from '../../text/markdown/checklist.ts';
import { unreadBoxes } from '../../text/markdown/lists.ts';
import { compareItems, textsOf } from './items.ts';

/** A checklist, compared with the items that it has had. */
export interface ChecklistStand extends ChecklistCount {
  /** First lines of the items that are no longer there. */
  readonly missing: readonly string[];
  /** Lines that look like an item and are none, by their number in the file. */
  readonly unread: readonly { readonly line: number; readonly text: string }[];
}

export interface ComparedChecklist {
  readonly stand: ChecklistStand;
  /** Items by their line in the file. */
  readonly items: readonly ChecklistItem[];
  /** First lines of all items that it has had. */
  readonly known: readonly string[];
}

/** Compares the checklist of a task file with the items that it has had. `bodyLine`: line of the file where the body begins. */
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
