import type { Nodes } from 'mdast';
import type { PlanTaskStatus } from '../../engine/plan/task-order.ts';
import { LINE_END } from '../../text/characters.ts';

interface TaskHead {
  /** Null for a box without a task. */
  readonly id: string | null;
  readonly title: string;
  readonly status: PlanTaskStatus;
  /** Offset of the mark within the line. */
  readonly boxAt: number;
  readonly noChange: boolean;
  /** Text that looks like a mark such as `(blocked)` but is unknown; null if there is none. */
  readonly unknownMark: string | null;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
const MARK = '[([](blocked|manual-verify|no-change)[)\\]]';
/** Pattern for a mark before the title, also within its bold; another one matches a mark after it. */
const MARK_BEFORE = new RegExp(`^(\\*\\*|__|[*_]|)${MARK}[ \\t]*`, 'i');
const MARK_BEHIND = new RegExp(`[ \\t]*${MARK}$`, 'i');
const WORD_OF_MARK =
  '[([](?:(?:block|manual|skip|defer|postpone|on hold)[^()[\\]]{0,40}|no[ _-]?changes?(?: (?:needed|required|expected))?)[)\\]]';
const BEGINS_LIKE_A_MARK = new RegExp(`^${WORD_OF_MARK}`, 'i');
const LIKE_A_MARK = new RegExp(`^${WORD_OF_MARK}|${WORD_OF_MARK}$`, 'i');
export const INLINE_COMMENT = /<!--.*?-->/g;
const OPENING = /^(?:\*\*|__|\*|_|`)/;
/** Pattern for `Task 5: Title`, `Task 5 - Title`, `Task 5. Title`, with an optional remark in parentheses after the id. */
const NAMED =
  /^(tasks?[ \t]+)?([^\s:*`()]+?)[ \t]*(?:\([^()]*\))?(\*\*|__|\*|_|`)?[ \t]*(:|\.(?=[\s*_`]|$)|[ \t][-–—][ \t]|$)[ \t]*(.*)$/i;

/** Reads the first line of an item; null if it has no box. */
export function readHead(line: string): TaskHead | null {
  const [box, mark = ' '] = BOX.exec(line) ?? [];
  if (box === undefined) return null;
  const marks: string[] = [];
  let rest = line.slice(box.length).replace(INLINE_COMMENT, '').trim();
  for (let found = MARK_BEFORE.exec(rest); found !== null; found = MARK_BEFORE.exec(rest)) {
    marks.push(String(found[2]).toLowerCase());
    rest = `${found[1]}${rest.slice(found[0].length)}`;
  }
  const { id, title: whole } = named(rest);
  let title = whole;
  for (let found = MARK_BEHIND.exec(title); found !== null; found = MARK_BEHIND.exec(title)) {
    marks.push(String(found[1]).toLowerCase());
    title = title.slice(0, -found[0].length);
  }
  const isDone = mark.toLowerCase() === 'x';
  const marked = marks.includes('blocked') ? 'blocked' : marks.includes('manual-verify') ? 'manual-verify' : 'open';
  const noChange = marks.includes('no-change');
  const unknownMark = isDone
    ? null
    : ((BEGINS_LIKE_A_MARK.exec(rest.replace(OPENING, '')) ?? LIKE_A_MARK.exec(title))?.[0] ?? null);
  return { id, title: title || id || '', status: isDone ? 'done' : marked, boxAt: 1, noChange, unknownMark };
}

function named(text: string): Pick<TaskHead, 'id' | 'title'> {
  const [mark = ''] = OPENING.exec(text) ?? [];
  const [, word, token = '', closing, separator, rest = ''] = NAMED.exec(text.slice(mark.length)) ?? [];
  // Without "Task", a bold name or a number distinguishes a task from a remark such as "TODO: tidy".
  const isNamed = (mark !== '' || /\d/.test(token)) && !/^https?$/i.test(token) && /[:–—-]/.test(separator ?? '');
  if (token === '' || (word === undefined && !isNamed)) return { id: null, title: text };
  const id = word === undefined ? token : `Task ${token}`;
  const title = mark === '' || closing === mark ? rest : withoutFirst(rest, mark);
  return { id, title: title.trim() || id };
}

/** Removes bold marks, which end after the colon, after the title, or before a remark: `**Task 1: Title** (soon)`. */
function withoutFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at) + text.slice(at + mark.length);
}

export interface LeafLine {
  /** Text without indentation and list marks. */
  readonly text: string;
  /** Offset of `text` in the whole text. */
  readonly at: number;
  readonly line: number;
  /** Nesting below the item: 0 for its own text. */
  readonly depth: number;
  /** True for the first line of an item. */
  readonly first: boolean;
}

/** Depth below which no fields are read; a line of thousands of list marks nests as many lists. */
const MOST_DEPTH = 100;

/** Returns the lines of paragraphs and headings in an item and its nested items. */
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
