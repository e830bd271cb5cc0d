import { readLists } from './lists.ts';

export interface ChecklistItem {
  /** Line in the given text, from 1. */
  readonly line: number;
  /** First line of the item, without the box. */
  readonly text: string;
  readonly paragraph: string;
  readonly checked: boolean;
}

/** Progress of a checklist: `done` of `total` items are checked. */
export interface ChecklistCount {
  readonly done: number;
  readonly total: number;
}

/**
 * Returns the task items of a Markdown text in order, anywhere and at any depth: those that GitHub shows as boxes and those
 * with another mark, which are open, except examples in block quotes and comments. Takes linear time and never throws.
 */
export function checklistItems(text: string): ChecklistItem[] {
  const items: ChecklistItem[] = [];
  readLists(text, {
    item: ({ line, checked, inCode, text: said, paragraph }) => {
      if (checked !== null && !inCode) items.push({ line, text: said, paragraph, checked });
    },
  });
  return items;
}

export function countChecklist(items: readonly ChecklistItem[]): ChecklistCount {
  return { done: items.filter(({ checked }) => checked).length, total: items.length };
}
