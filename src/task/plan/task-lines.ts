import type { PlanTaskStatus } from '../../engine/plan/task-order.ts';
import type { Line } from '../../text/markdown/lines.ts';

interface TaskHead {
  /** Null for a box without a task. */
  readonly id: string | null;
  readonly title: string;
  readonly status: PlanTaskStatus;
  readonly noChange: boolean;
  /** Text that looks like a mark such as `(blocked)` but is unknown; null if there is none. */
  readonly unknownMark: string | null;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
const MARK = '[([](blocked|manual-verify|no-change)[)\\]]';
/** Pattern for a mark before the title, also within its bold; another one matches a mark after it. */
const MARK_BEFORE = new RegExp(`^(\\*\\*|__|[*_]|)${MARK}[ \\t]*`, 'i');
const MARK_BEHIND = new RegExp(`${MARK}$`, 'i');
const WORD_OF_MARK =
  '[([](?:(?:block|manual|skip|defer|postpone|on hold)[^()[\\]]{0,40}|no[ _-]?changes?(?: (?:needed|required|expected))?)[)\\]]';
const BEGINS_LIKE_A_MARK = new RegExp(`^${WORD_OF_MARK}`, 'i');
const LIKE_A_MARK = new RegExp(`^${WORD_OF_MARK}|${WORD_OF_MARK}$`, 'i');
const OPENING = /^(?:\*\*|__|\*|_|`)/;
/** Pattern for `Task 5: Title`, `Task 5 - Title`, `Task 5. Title`, with an optional remark in parentheses after the id. */
const NAMED =
  /^(tasks?[ \t]+)?([^\s:*`()]+?)(?:[ \t]*\([^()]*\))?(?:[ \t]*(\*\*|__|\*|_|`))?[ \t]*(:|\.(?=[\s*_`]|$)|[ \t][-–—][ \t]|$)[ \t]*(.*)$/i;

/** Reads the first line of an item; null if it has no box. */
export function readHead(line: string): TaskHead | null {
  const [box, mark = ' '] = BOX.exec(line) ?? [];
  if (box === undefined) return null;
  const marks: string[] = [];
  let rest = line.slice(box.length).trim();
  // V8 takes long for the expressions of marks, so a line without a bracket is not asked.
  const mayHaveMarks = /[([]/.test(rest);
  for (let found = mayHaveMarks && MARK_BEFORE.exec(rest); found; found = MARK_BEFORE.exec(rest)) {
    marks.push(String(found[2]).toLowerCase());
    rest = `${found[1]}${rest.slice(found[0].length)}`;
  }
  const { id, title: whole } = named(rest);
  let title = whole;
  for (let found = mayHaveMarks && MARK_BEHIND.exec(title); found; found = MARK_BEHIND.exec(title)) {
    marks.push(String(found[1]).toLowerCase());
    title = title.slice(0, -found[0].length).trimEnd();
  }
  const isDone = mark.toLowerCase() === 'x';
  const marked = marks.includes('blocked') ? 'blocked' : marks.includes('manual-verify') ? 'manual-verify' : 'open';
  const noChange = marks.includes('no-change');
  const unknownMark =
    isDone || !mayHaveMarks
      ? null
      : ((BEGINS_LIKE_A_MARK.exec(rest.replace(OPENING, '')) ?? LIKE_A_MARK.exec(title))?.[0] ?? null);
  return { id, title: title || id || '', status: isDone ? 'done' : marked, noChange, unknownMark };
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

/** Line of a paragraph or heading in a list item. */
export interface ItemLine {
  /** Text without indentation, list marks and comments. */
  readonly text: string;
  /** Offset of `text` in the whole text. */
  readonly at: number;
  readonly line: number;
  /** Nesting below the item: 0 for its own text. */
  readonly depth: number;
  /** True for the first line of an item. */
  readonly first: boolean;
}

/** List item that is in no other one, with the lines of those that are in it. */
export interface TopItem {
  /** Offsets of its list mark and of the end of its last line. */
  readonly start: number;
  readonly end: number;
  readonly lines: readonly ItemLine[];
}

/** Pattern for rules and the underlines of headings. */
const NO_TEXT = /^[-*_=\s]*$/;

export function topItems(all: readonly Line[]): TopItem[] {
  const items: (TopItem & { end: number; readonly lines: ItemLine[] })[] = [];
  let isEmpty = false;
  for (const line of all) {
    const { number, raw, content, itemsBegun, listDepth } = line;
    if (listDepth === 0 || raw.trim() === '') continue;
    const end = line.at + raw.length;
    if (listDepth === itemsBegun) items.push({ start: end - raw.trimStart().length, end, lines: [] });
    const item = items.at(-1);
    if (item === undefined) continue;
    item.end = end;
    const first = itemsBegun > 0 || isEmpty;
    if (!line.inFence && !line.inQuote && !line.inHtml && !line.indentedCode && !NO_TEXT.test(content))
      item.lines.push({ text: content, at: contentOffset(line), line: number, depth: listDepth - 1, first });
    isEmpty = itemsBegun > 0 && content === '';
  }
  return items;
}

/** Returns the offset of a line's content in the whole text, behind the comments before it. */
function contentOffset({ at, raw, text, content, comments }: Line): number {
  const end = at + raw.length;
  const hidden = comments.reduce((sum, comment) => sum + Math.min(comment.end, end) - comment.start, 0);
  // What is hidden besides belongs to a comment that began on an earlier line.
  const begin = end - text.length - hidden + text.trimEnd().length - content.length;
  return comments.reduce(
    (offset, comment) => offset + (comment.start <= offset ? comment.end - comment.start : 0),
    begin,
  );
}
