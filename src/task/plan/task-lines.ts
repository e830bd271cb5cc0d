import type { Nodes } from 'mdast';
import type { PlanTaskStatus } from '../../engine/plan/task-order.ts';
import { LINE_END } from '../../text/characters.ts';

export interface TaskHead {
  /** null for a box that names no task. */
  readonly id: string | null;
  readonly title: string;
  readonly status: PlanTaskStatus;
  /** Of the mark in the box, from the beginning of the line. */
  readonly boxAt: number;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
const ANNOTATION = /^\((blocked|manual-verify)\)[ \t]*/i;
/** Within one line. */
export const INLINE_COMMENT = /<!--.*?-->/g;
const OPENING = /^(?:\*\*|__|\*|_|`)/;
/** `Task 5: Title`, `Task 5 - Title`, `Task 5. Title`; a remark in brackets may stand behind the id. */
const NAMED =
  /^(tasks?[ \t]+)?([^\s:*`()]+?)[ \t]*(?:\([^()]*\))?(\*\*|__|\*|_|`)?[ \t]*(:|\.(?=[\s*_`]|$)|[ \t][-–—][ \t]|$)[ \t]*(.*)$/i;

/** Reads the first line of an item with a box; null where it has none. Never throws. */
export function readHead(line: string): TaskHead | null {
  const [box, mark = ' '] = BOX.exec(line) ?? [];
  if (box === undefined) return null;
  let rest = line.slice(box.length);
  let status: PlanTaskStatus = mark === 'x' || mark === 'X' ? 'done' : 'open';
  for (let found = ANNOTATION.exec(rest); found !== null; found = ANNOTATION.exec(rest)) {
    // What is blocked is not to be verified yet.
    if (status === 'open' || status === 'manual-verify')
      status = found[1]?.toLowerCase() === 'blocked' ? 'blocked' : 'manual-verify';
    rest = rest.slice(found[0].length);
  }
  return { ...named(rest.replace(INLINE_COMMENT, '').trim()), status, boxAt: 1 };
}

function named(text: string): Pick<TaskHead, 'id' | 'title'> {
  const [mark = ''] = OPENING.exec(text) ?? [];
  const [, word, token = '', closing, separator, rest = ''] = NAMED.exec(text.slice(mark.length)) ?? [];
  // Without the word "Task", a bold name or a number shows that a task is meant, and not a remark such as "TODO: tidy".
  const isNamed = (mark !== '' || /\d/.test(token)) && !/^https?$/i.test(token) && /[:–—-]/.test(separator ?? '');
  if (token === '' || (word === undefined && !isNamed)) return { id: null, title: text };
  const id = word === undefined ? token : `Task ${token}`;
  const title = mark === '' || closing === mark ? rest : withoutFirst(rest, mark);
  return { id, title: title.trim() || id };
}

/** What is bold ends behind the colon, behind the title, or before a remark: `**Task 1: Title** (soon)`. */
function withoutFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at) + text.slice(at + mark.length);
}

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
