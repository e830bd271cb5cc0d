import { hasWord, withoutEnds } from '../../text/characters.ts';
import { type Line, lines } from '../../text/markdown/lines.ts';
import { saysNone } from '../../text/markdown/lists.ts';
import {
  DOUBTED,
  isClosing,
  MAY_SAY_STATUS,
  statusField,
  statusOf,
  statusOfTick,
  statusWord,
  withoutLeadingMarks,
  withoutStatus,
} from './finding-status.ts';

interface FindingsLog {
  /** Entries in order; if an id repeats, the later entry. */
  readonly findings: readonly Finding[];
  /** True if open findings are unknown: a log without an entry does not say that there is none, or has an HTML table. */
  readonly isUnread: boolean;
}

/**
 * Reads a log of findings outside code fences and comments. An entry is a heading with an id (`### FINDING-001: …`, `##
 * F1: …`) or with a status below it, a row of a table with a status column, or a list item with a status, or with an id
 * and a box. If an id has a heading, its status is read there.
 */
export function readFindings(text: string): FindingsLog {
  const reader = new LogReader();
  for (const line of lines(text)) if (!line.inFence && line.text !== '') reader.read(line);
  return reader.log();
}

/** Heading or list item that an entry may belong to. */
interface Subject {
  readonly key: string;
  /** Level of the heading, or depth of the list item. */
  readonly level: number;
}

class LogReader {
  readonly #byHeading = new Map<string, Finding>();
  readonly #byLine = new Map<string, Finding>();
  /** Heading with an id that the following lines belong to. */
  #entry: Subject | null = null;
  /** Heading without an id, which is an entry if a status follows. */
  #heading: (Subject & { readonly line: number }) | null = null;
  /** List items that contain the following lines, outermost first. */
  #items: (Subject & { readonly line: number })[] = [];
  #table: Columns | null = null;
  #cells: readonly string[] | null = null;
  #hasHtmlTable = false;
  #hasText = false;
  #hasTable = false;
  /** Lines that may say that there is no finding; used only if no entry is found. */
  #said: string[] = [];

  read(line: Line): void {
    this.#hasHtmlTable ||= line.inHtml && /<table\b/i.test(line.text);
    const content = withoutTags(line.content);
    const [, level, title] = (line.content.startsWith('<') && /^<h([1-6])\b[^>]*>(.*)/i.exec(line.content)) || [];
    const heading = line.heading ?? (title === undefined ? null : { title, level: Number(level) });
    if (heading !== null) {
      this.#readHeading(withoutTags(heading.title), heading.level, line.number);
      return;
    }
    if (this.#readTable(line)) return;
    if (hasWord(content)) this.#hasText = true;
    this.#said.push(content);
    const status = statusField(content);
    if (line.itemsBegun > 0 || /^<li\b/i.test(line.content)) this.#readItem({ ...line, content }, status);
    else {
      if (line.listDepth === 0) this.#items = [];
      if (status === undefined && !line.indentedCode) this.#readProse(content, line.number);
    }
    if (status !== undefined) this.#setStatus(status, { ...line, content });
    else if (this.#entry !== null && REOPENED.test(content)) this.#setStatus(DOUBTED, line);
  }

  log(): FindingsLog {
    const others = [...this.#byLine].filter(([key]) => !this.#byHeading.has(key));
    const findings = [...this.#byHeading, ...others].map(([, finding]) => finding).sort((a, b) => a.line - b.line);
    const hasNone = findings.length === 0 && this.#hasText && !this.#hasTable && !this.#said.some(saysNone);
    const isUnread = hasNone || this.#hasHtmlTable;
    return { findings, isUnread };
  }

  #readHeading(title: string, level: number, line: number): void {
    this.#items = [];
    this.#table = null;
    const named = namedFinding(title);
    const status = statusField(title) ?? statusWord(title) ?? null;
    if (named !== null) {
      this.#entry = { key: keyOf(named.id), level };
      add(this.#byHeading, this.#entry.key, { ...named, status, line });
      return;
    }
    if (this.#entry !== null && level > this.#entry.level) return;
    this.#entry = null;
    const id = titleOf(title);
    this.#heading = { key: id, level, line };
    if (isPlaceholder(title)) this.#heading = null;
    else if (status !== null && id !== '') this.#makeEntry(id, status);
    else if (level > 1 && !OTHER_HEADING.test(id)) this.#hasText = true;
    this.#said.push(id);
  }

  #makeEntry(key: string, status: string | null): void {
    if (this.#heading === null) return;
    const { line, level } = this.#heading;
    this.#entry = { key, level };
    add(this.#byHeading, key, { id: key, title: '', status, line });
  }

  #readItem({ content, listDepth, number }: Line, status: string | null | undefined): void {
    this.#items = this.#items.filter(({ level }) => level < listDepth);
    const [, mark] = BOX.exec(content) ?? [];
    const named = namedFinding(content);
    const rest = content.replace(BOX, '');
    const own = status === undefined ? statusWord(rest) : status;
    const byBox = mark === undefined ? undefined : mark.toLowerCase() === 'x' ? statusOfTick(rest) : 'OPEN';
    const key = named === null ? titleOf(content) : keyOf(named.id);
    this.#items.push({ key, level: listDepth, line: number });
    const found = own === undefined ? byBox : byBox === 'OPEN' ? 'OPEN' : own;
    if (found === undefined || key === '') return;
    if (named !== null) add(this.#byLine, key, { ...named, status: found, line: number });
    else if (MAY_SAY_STATUS.test(rest) && BEGINS_WITH_STATUS.test(rest))
      add(this.#byLine, key, { id: key, title: '', status: found, line: number });
  }

  /** Reads `F1: OPEN` outside lists. */
  #readProse(content: string, line: number): void {
    const named = namedFinding(content);
    const status = named === null ? undefined : statusWord(content);
    // A sentence that mentions a finding does not set its status.
    if (status === DOUBTED && named !== null && this.#byLine.has(keyOf(named.id))) return;
    if (named !== null && status !== undefined) add(this.#byLine, keyOf(named.id), { ...named, status, line });
  }

  /** Gives a status to the entry that a line belongs to, or makes an entry of the heading or item above. */
  #setStatus(status: string | null, { listDepth, itemsBegun, content }: Line): void {
    if (this.#entry !== null) {
      const found = this.#byHeading.get(this.#entry.key);
      if (found !== undefined) this.#byHeading.set(this.#entry.key, { ...found, status });
      return;
    }
    const isField = /^[\s>*_`+-]*status\b/i.test(content);
    const item = this.#items.findLast(({ level }) => level < listDepth + (isField ? 0 : 1) || itemsBegun === 0);
    if (item !== undefined && item.key !== '') {
      const found = this.#byLine.get(item.key) ?? { id: item.key, title: '', line: item.line };
      this.#byLine.set(item.key, { ...found, status });
    } else if (this.#heading !== null && status !== null && this.#heading.key !== '') {
      this.#makeEntry(this.#heading.key, status);
    }
  }

  #readTable(source: Line): boolean {
    const { text, number, isProse } = source;
    const cells = isProse && text.includes('|') ? cellsOf(withoutTags(text)) : null;
    const header = this.#cells;
    this.#cells = cells;
    if (cells === null) {
      this.#table = null;
      return false;
    }
    if (header !== null && cells.every((cell) => /^:?-+:?$/.test(cell))) {
      this.#table = columnsOf(header);
      if (this.#table !== null) this.#hasTable = true;
      return this.#table !== null;
    }
    const [name = '', value = ''] = cells;
    if (this.#entry !== null && /^\W*status\W*$/i.test(name) && /^\W*(?:open|fixed)/i.test(value)) {
      this.#setStatus(statusOf(value), source);
      return true;
    }
    this.#readRow(this.#table ?? columnsOfRow(cells), cells, number);
    return this.#table !== null;
  }

  #readRow(columns: Columns | null, cells: readonly string[], line: number): void {
    if (columns === null) return;
    const subject = cells[columns.id] ?? '';
    const named = namedFinding(subject) ?? { id: titleOf(subject), title: '' };
    const title = columns.title === columns.id ? named.title : titleOf(cells[columns.title] ?? '');
    if (named.id === '' || isPlaceholder(subject)) return;
    const said = cells[columns.status] ?? '';
    const status =
      columns.isAnswer && !YES.test(said) ? 'OPEN' : statusOf(columns.isAnswer ? said.replace(YES, 'FIXED') : said);
    add(this.#byLine, keyOf(named.id), { id: named.id, title, status, line });
  }
}

function add(entries: Map<string, Finding>, key: string, finding: Finding): void {
  entries.delete(key);
  entries.set(key, finding);
}

/** Returns the same key for `F1`, `F-1` and `f 1`. */
function keyOf(id: string): string {
  return id.toLowerCase().replace(/[-_\s]/g, '');
}

interface Columns {
  readonly id: number;
  readonly title: number;
  readonly status: number;
  readonly isAnswer?: boolean;
}

/** Answers of a column `Fixed?` that close a finding, if no remark takes them back. */
const YES = /^\W*(?:yes|y|true|x|done)\b|^[✅✔☑✓]/iu;

/** Returns the columns of a table of findings; null if it has none for the status. */
function columnsOf(header: readonly string[]): Columns | null {
  const column = (name: RegExp): number => header.findIndex((cell) => name.test(cell.replace(/[*_`]/g, '').trim()));
  const named = column(/^(?:(?:current|new|finding) )?(?:status|state)(?: \(.*\))?$/i);
  const answer = column(/^(?:fixed|resolved|closed|done)\s*\?*$/i);
  const status = named === -1 ? answer : named;
  if (status === -1) return null;
  const title = column(/^(?:title|finding|issue|problem|description|summary|what)$/i);
  const first = title === -1 ? (status === 0 ? 1 : 0) : title;
  const given = column(/^(?:id|#|no\.?|nr\.?|finding|issue)$/i);
  const id = given !== -1 ? given : status === 0 ? first : 0;
  return { id, title: title === -1 ? id : title, status, isAnswer: named === -1 };
}

/** Returns the columns of a row without a header: one cell has a status, at most one a remark; else null. */
function columnsOfRow(cells: readonly string[]): Columns | null {
  const status = cells.findIndex((cell) => /^\W*(?:OPEN|FIXED\w*)\s*(?:\W*$|[(,;:?–—-])/.test(cell));
  const named = cells.findIndex((cell) => namedFinding(cell) !== null);
  return status === -1 || named === -1 ? null : { id: named, title: named, status };
}

function cellsOf(row: string): string[] {
  const cells = row
    .trim()
    .replace(/^\|/, '')
    .split(/(?<!\\)\|/);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((cell) => cell.trim());
}

/** Returns whether a heading or row comes from a template. The first pattern compiles ten times as fast. */
const isPlaceholder = (text: string): boolean => /[dfg][-_ #]?[nx<]/i.test(text) && PLACEHOLDER.test(text);
const PLACEHOLDER = /\b(?:finding|f|id)[-_ #]?(?:n{1,3}|x{1,3}|<[^>]*>)(?![\w])/i;

/** Pattern for a log's headings that are not entries. */
const OTHER_HEADING =
  /\b(?:findings?|logs?|audit|summary|iteration|round|session|files?|checked|scope|notes?|open|fixed|closed|format|status|reports?|results?|history|legend|template|none)\b/i;

/** Entry of the agent's log of findings. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** First word of its last status, in capitals; null if it has none. */
  readonly status: string | null;
  /** Line where it begins, from 1. */
  readonly line: number;
}

export function isOpen({ status }: Pick<Finding, 'status'>): boolean {
  return !isClosing(status);
}

/** Cheap test that every id passes; V8 takes ten times as long to compile `NAMED`. */
const HAS_ID = /[a-z#][-_ #]{0,2}\d/i;
const NAMED =
  /^[*_`~\s[(]{0,5}((?:(?:finding|find|issue|bug|defect|problem|vuln|vulnerability|risk)[-_ #]{0,2}|f[-_#]?|#)\d{1,9}(?:\.\d{1,9})*(?!\.?\w))[*_`~\s\])]{0,5}(.*)$/is;

/** Parses `FINDING-001: [Category] Title`, `F1 – Title` or `#3 Title`; null for a text without such an id. */
function namedFinding(text: string): Pick<Finding, 'id' | 'title'> | null {
  const [, id, rest = ''] = (HAS_ID.test(text) && NAMED.exec(withoutLeadingMarks(text.replace(BOX, '')))) || [];
  if (id === undefined) return null;
  return { id: id.toUpperCase().replace(/\s/g, '-'), title: titleOf(rest) };
}

/** Returns a title without marks, category and status. */
function titleOf(text: string): string {
  const lead = /^[\s:.–—-]+/;
  const words = withoutMarks(withoutStatus(text)).replace(lead, '');
  return withoutMarks(words.replace(/^\[[^\]]*\]/, '').replace(lead, ''));
}

const BOX = /^\[([^\]])\][ \t]+/u;
/** Pattern for list items without an id that are entries by their first word. */
const BEGINS_WITH_STATUS = /^[*_`[(]{0,3}(?:OPEN|FIXED\w*)[*_`\])]{0,3}\s{0,3}[:\])–—-]|^[[(](?:open|fixed)[\])]/;
/** Pattern for a line of an entry that revokes its status, or may. */
const REOPENED = /^[\s>*_`+-]*(?:update[\s*_`]*:[\s*_`]*)?re-?opened\b/i;
const STRUCK = /<(s|del|strike)\b[^>]{0,200}>[\s\S]{0,500}?<\/\1\s*>/gi;
const TAGS =
  /<\/?(?:a|b|i|s|u|em|p|br|strong|del|strike|ins|code|kbd|div|span|font|mark|small|sub|sup|[uod]l|li|d[td]|t[dhr]|table|t(?:head|body)|summary|details|h[1-6])\b[^<>]{0,500}>/gi;

/** Returns a text without HTML tags and struck-through text; an HTML check box becomes one of Markdown. */
function withoutTags(text: string): string {
  if (!text.includes('<')) return text;
  const boxes = text.replace(/<input\b[^<>]{0,200}checkbox[^<>]{0,200}>/gi, (box) =>
    /\bchecked\b/i.test(box) ? '[x] ' : '[ ] ',
  );
  return boxes.replace(STRUCK, ' ').replace(TAGS, ' ').trim();
}

function withoutMarks(text: string): string {
  return withoutEnds(text, ' \t*_`#~');
}
