import { readLists } from './lists.ts';

export interface ChecklistItem {
  /** Counted from 1, in the text that was read. */
  readonly line: number;
  /** Its first line, without the box. */
  readonly text: string;
  readonly checked: boolean;
}

/** How far a checklist has come: `done` of `total` items are checked. */
export interface ChecklistCount {
  readonly done: number;
  readonly total: number;
}

/**
 * The task items of a Markdown text, in order, wherever they stand and however deep they are nested: as GitHub shows
 * them as boxes, but for those in block quotes and comments, which are examples. Takes linear time, and never throws.
 */
export function checklistItems(text: string): ChecklistItem[] {
  const items: ChecklistItem[] = [];
  readLists(text, {
    item: ({ line, checked, inCode, text: said }) => {
      if (checked !== null && !inCode) items.push({ line, text: said, checked });
    },
  });
  return items;
}

export function countChecklist(items: readonly ChecklistItem[]): ChecklistCount {
  return { done: items.filter(({ checked }) => checked).length, total: items.length };
}
