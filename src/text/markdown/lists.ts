import { type Line, lines } from './lines.ts';

export interface ListItem {
  readonly line: number;
  /** First line of the item, without its box; never empty. */
  readonly text: string;
  readonly checked: boolean | null;
  /** Nested in a checked item. */
  readonly inDone: boolean;
  /** Inside another item. */
  readonly nested: boolean;
  /** Indented like code, which is not a list item in Markdown. */
  readonly inCode: boolean;
}

interface ListVisitor {
  readonly item: (item: ListItem) => void;
  readonly heading?: (title: string, level: number) => void;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
const ITEM_IN_CODE = /^(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/s;

/** Visits the list items and headings of a Markdown text outside fences, comments and quotes; no empty items. */
export function readLists(text: string, visitor: ListVisitor): void {
  /** True for each open item that is checked, or nested in a checked one. */
  const done: boolean[] = [];
  /** Open items that are indented like code, with their columns. */
  let inCode: { readonly column: number; readonly done: boolean }[] = [];
  /** Item whose text may follow on the next line. */
  let pending: { readonly item: ListItem; readonly depth: number } | null = null;
  for (const line of lines(text)) {
    const { column, content, heading, indentedCode, itemsBegun, listDepth } = line;
    if (line.isProse && pending !== null && listDepth >= pending.depth)
      visitor.item({ ...pending.item, text: content });
    pending = null;
    if (heading !== null) visitor.heading?.(heading.title, heading.level);
    done.length = Math.min(done.length, listDepth - itemsBegun);
    if (!indentedCode && content !== '') inCode = [];
    inCode = inCode.filter((item) => item.column < column);
    const own = itemsBegun > 0 ? content : indentedCode ? ITEM_IN_CODE.exec(content)?.[1] : undefined;
    if (own === undefined) continue;
    const item = readItem(line, own, inCode.at(-1)?.done ?? done.at(-1) ?? false);
    if (item.text === '') pending = { item, depth: listDepth };
    else visitor.item(item);
    const isDone = item.checked ?? item.inDone;
    if (itemsBegun === 0) inCode.push({ column, done: isDone });
    for (let depth = 1; depth < itemsBegun; depth++) done.push(item.inDone);
    if (itemsBegun > 0) done.push(isDone);
  }
}

function readItem({ number, indentedCode, listDepth, itemsBegun }: Line, content: string, inDone: boolean): ListItem {
  const [box, mark = ''] = BOX.exec(content) ?? [];
  const checked = box === undefined ? null : mark.trim() !== '';
  const nested = listDepth > itemsBegun;
  return { line: number, text: content.slice(box?.length ?? 0).trim(), checked, inDone, nested, inCode: indentedCode };
}
