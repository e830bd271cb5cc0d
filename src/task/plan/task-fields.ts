import type { PlanTaskStatus } from '../../engine/plan/task-order.ts';
import { withoutEnds } from '../../text/characters.ts';
import type { Line } from '../../text/markdown/lines.ts';

interface TaskHead {
  /** Null for a box without a task. */
  readonly id: string | null;
  readonly title: string;
  readonly status: PlanTaskStatus;
  readonly noChange: boolean;
  /** Text that looks like a mark such as `(blocked)` but is not a known one; null if there is none. */
  readonly unknownMark: string | null;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
/** Pattern for a mark; `[blocked](https://…)` is a link. */
const MARK = '[([](blocked|manual-verify|no-change)(?:\\)|\\](?!\\([^()]*[/.#]))';
/** Pattern for a mark before the task or its title, also inside bold marks; another pattern is for a mark after it. */
const MARK_BEFORE = new RegExp(`^(\\*\\*|__|[*_]|)${MARK}:?[ \\t]*`, 'i');
const MARK_BEHIND = new RegExp(`()${MARK}$`, 'i');
/** Pattern for the remains of `**(blocked)**`. */
const EMPTY_BOLD = /^(?:\*{4}|_{4}|\*\*(?=\s)|__(?=\s))\s*/;
const WORD_OF_MARK =
  '[([](?:(?:block|manual|skip|defer|postpone|on hold)[^()[\\]]{0,40}|no[ _-]?changes?(?: (?:needed|required|expected))?)[)\\]]';
const LIKE_A_MARK = new RegExp(`^${WORD_OF_MARK}|${WORD_OF_MARK}$`, 'i');
/** Pattern for text in the place of a mark, other than a link. */
const BEFORE_A_TASK = /^(?:\*\*|__|[*_])?([([][^()[\]]{1,40}[)\]])(?!\()[ \t]*(.*)$/;
const OPENING = /^(?:\*\*|__|\*|_|`)/;
/** Pattern for `Task 5: Title`, `Task 5 - Title`, `Task 5. Title`, `**Task 5** Title`, with an optional remark, or a mark, in parentheses after the id. */
const NAMED =
  /^(tasks?[ \t]+)?([^\s:*`()]+?)(?:[ \t]*(\([^()]*\)))?(?:[ \t]*(\*\*|__|\*|_|`))?[ \t]*(:|\.(?=[\s*_`]|$)|[ \t][-–—][ \t]|(?<=\*\*|__)[ \t]|$)[ \t]*(.*)$/i;

/** Reads the first line of an item; null if it has no box. */
export function readHead(line: string): TaskHead | null {
  const [box, mark = ' '] = BOX.exec(line) ?? [];
  if (box === undefined) return null;
  const marks: string[] = [];
  // V8 takes long to compile the expressions of marks, so a line without a bracket is skipped.
  const mayHaveMarks = /[([]/.test(line.slice(box.length));
  const withoutMarks = (text: string, pattern: RegExp): string => {
    let rest = text;
    for (let found = mayHaveMarks && pattern.exec(rest); found; found = pattern.exec(rest)) {
      marks.push(String(found[2]).toLowerCase());
      rest = rest.replace(pattern, '$1').replace(EMPTY_BOLD, '').trimEnd();
    }
    return rest;
  };
  const rest = withoutMarks(line.slice(box.length).trim(), MARK_BEFORE);
  const { id, title: whole } = named(rest);
  const title = withoutMarks(withoutMarks(whole, MARK_BEFORE), MARK_BEHIND);
  const isDone = mark.toLowerCase() === 'x';
  const marked = marks.includes('blocked') ? 'blocked' : marks.includes('manual-verify') ? 'manual-verify' : 'open';
  const noChange = marks.includes('no-change');
  const [, bracket = null, behind = ''] = (id === null && mayHaveMarks && BEFORE_A_TASK.exec(rest)) || [];
  const unknownMark =
    isDone || !mayHaveMarks ? null : (LIKE_A_MARK.exec(title)?.[0] ?? (named(behind).id === null ? null : bracket));
  return { id, title: title || id || '', status: isDone ? 'done' : marked, noChange, unknownMark };
}

function named(text: string): Pick<TaskHead, 'id' | 'title'> {
  const [mark = ''] = OPENING.exec(text) ?? [];
  const [, word, token = '', remark = '', closing, separator, rest = ''] = NAMED.exec(text.slice(mark.length)) ?? [];
  // Without "Task", a bold name or a number distinguishes a task from a remark such as "TODO: tidy".
  const isNamed = (mark !== '' || /\d/.test(token)) && !/^https?$/i.test(token) && /[:–—-]/.test(separator ?? '');
  if (token === '' || (word === undefined && !isNamed)) return { id: null, title: text };
  const id = word === undefined ? token : `Task ${token}`;
  const title = mark === '' || closing === mark ? rest : withoutFirst(rest, mark);
  return { id, title: `${title.trim() || id}${MARK_BEHIND.test(remark) ? ` ${remark}` : ''}` };
}

/** Removes the first `mark`: bold ends after the colon, the title, or before a remark: `**Task 1: Title** (soon)`. */
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

/** List item that is in no other item, with the lines of the items in it. */
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

/** Returns the offset of a line's content, after any comments, in the whole text. */
function contentOffset({ at, raw, text, content, comments }: Line): number {
  const end = at + raw.length;
  const hidden = comments.reduce((sum, comment) => sum + Math.min(comment.end, end) - comment.start, 0);
  // The rest of what is hidden belongs to a comment that began on an earlier line.
  const begin = end - text.length - hidden + text.trimEnd().length - content.length;
  return comments.reduce(
    (offset, comment) => offset + (comment.start <= offset ? comment.end - comment.start : 0),
    begin,
  );
}

type Field = 'scope' | 'depends' | 'acceptance' | 'notes' | 'other';

interface Entry {
  readonly field: Field;
  text: string;
}

const KEY =
  /^(\*\*|__|\*|_|`|)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)(?:\1)[ \t]*:[ \t]*(.*)$/i;
/** Pattern for keys such as `**Scope:** path`. */
const KEY_WITH_COLON =
  /^(\*\*|__|\*|_|`)(scope|depends[ -]?on|dependencies|depends|acceptance(?:[ -]criteria)?|notes?)[ \t]*:[ \t]*\1[ \t]*(.*)$/i;
export function isField(text: string): boolean {
  return KEY.test(text) || KEY_WITH_COLON.test(text);
}

const QUOTES = '"\'“”';
/** Pattern for a line that consists of one HTML tag, which has no meaning. */
const LONE_TAG = /^<\/?[a-z][\w-]*(?:\s[^<>]*)?\/?>$/i;

/** Reads the fields below a task's first line. `prose` is description and notes, one line per paragraph and item. */
export function readFields(lines: readonly ItemLine[]) {
  const entries: Entry[] = [];
  let field: Field = 'other';
  let keyDepth = 0;
  for (const { text, depth, first } of lines) {
    if (!first && LONE_TAG.test(text)) continue;
    // Deeper lines belong to the current field.
    const [, , key, value = ''] = (depth <= 1 ? (KEY.exec(text) ?? KEY_WITH_COLON.exec(text)) : null) ?? [];
    if (key !== undefined) {
      field = fieldOf(key);
      keyDepth = depth;
      entries.push({ field, text: value });
      continue;
    }
    if (first && depth <= keyDepth) field = 'other';
    const shown = text.replace(/^\[[ \txX]\][ \t]+/, '');
    const last = entries.at(-1);
    if (first || last === undefined || last.field !== field || last.text === '') entries.push({ field, text: shown });
    else last.text += ` ${shown}`;
  }
  const of = (wanted: Field): string[] =>
    entries.filter((entry) => entry.field === wanted && entry.text.trim() !== '').map(({ text }) => text);
  return {
    scope: [...new Set(of('scope').flatMap(scopesIn))],
    dependsOn: [...new Set(of('depends').flatMap(idsIn))],
    acceptance: of('acceptance'),
    notes: of('notes'),
    prose: [...of('other'), ...of('notes')].join('\n'),
  };
}

function fieldOf(key: string): Field {
  const [begin = ''] = /^[a-z]+/i.exec(key) ?? [];
  const name = begin.toLowerCase();
  if (name === 'scope' || name === 'acceptance') return name;
  return name.startsWith('note') ? 'notes' : 'depends';
}

/** Returns text in backticks and adjacent paths; without backticks, comma-separated text. */
function scopesIn(text: string): string[] {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path.trim());
  const beside = text
    .replace(/`[^`]+`/g, ',')
    .split(',')
    .map(plainPath);
  const joined = beside.map((path) => path.replace(/^(?:and|or|plus|&|\+)(?:\s+|$)/i, ''));
  const named = quoted.length > 0 ? [...quoted, ...joined.filter((path) => !/\s|^\(/.test(path))] : beside;
  return named.filter((path) => path !== '' && !/^(?:none|n\/a|-)$/i.test(unmarked(path)));
}

/** Removes a pair of marks around a path; keeps its other stars and underscores (`*.md`, `__tests__`). */
function plainPath(text: string): string {
  return withoutEnds(text.trim().replace(/([^./])\.$/, '$1'), QUOTES)
    .replace(/^(\*{1,2})([^*/](?:.*[^*/])?)\1$/, '$2')
    .trim();
}

function idsIn(text: string): string[] {
  return text
    .split(/[,;&]|\band\b/i)
    .map((each) => unmarked(withoutRemark(each)).replace(/^tasks?\s+(?=\S)/i, 'Task '))
    .filter((id) => id !== '' && !/^(?:none|nothing|n\/a|[-–—])$/i.test(id));
}

function withoutRemark(text: string): string {
  const plain = text.trimEnd();
  const at = plain.endsWith(')') ? plain.indexOf('(', plain.lastIndexOf(')', plain.length - 2) + 1) : -1;
  return at === -1 ? text : plain.slice(0, at);
}

function unmarked(text: string): string {
  return withoutEnds(text.trim(), `*_\`${QUOTES}`, `*_\`${QUOTES}.`).trim();
}
