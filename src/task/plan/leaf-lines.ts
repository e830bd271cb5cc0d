import type { Nodes } from 'mdast';
import { LINE_END } from '../../core/line-end.ts';

/** A line of prose in a list item. */
export interface LeafLine {
  /** Without the indentation and the marks of lists before it. */
  readonly text: string;
  /** Where `text` begins in the whole text. */
  readonly at: number;
  /** Counted from 1 in the whole text. */
  readonly line: number;
  /** Lists between the item and the line: 0 for the item's own text. */
  readonly depth: number;
  /** It begins an item. */
  readonly first: boolean;
}

/** No field of a task lies so deep; a line of thousands of list marks nests as many lists. */
const MOST_DEPTH = 100;

/** The lines of an item's paragraphs and headings, and of the items in it; not those of code, HTML, quotes. */
export function leafLines(text: string, item: Nodes): LeafLine[] {
  const found: LeafLine[] = [];
  const visit = (node: Nodes, depth: number, first: boolean): void => {
    if (node.type === 'paragraph' || node.type === 'heading') found.push(...linesOf(text, node, depth, first));
    else if (node.type === 'listItem') {
      for (const [index, child] of node.children.entries()) visit(child, depth, index === 0);
    } else if (node.type === 'list' && depth < MOST_DEPTH) {
      for (const child of node.children) visit(child, depth + 1, true);
    }
  };
  visit(item, 0, true);
  return found;
}

function linesOf(whole: string, { position }: Nodes, depth: number, first: boolean): LeafLine[] {
  if (position === undefined) return [];
  let at = position.start.offset ?? 0;
  const end = position.end.offset ?? at;
  const found: LeafLine[] = [];
  for (const raw of whole.slice(at, end).split(LINE_END)) {
    const text = raw.trimStart();
    found.push({
      text: text.trimEnd(),
      at: at + raw.length - text.length,
      line: position.start.line + found.length,
      depth,
      first: first && found.length === 0,
    });
    at += raw.length;
    at += whole.startsWith('\r\n', at) ? 2 : 1;
  }
  return found;
}
