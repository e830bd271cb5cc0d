import { hasWord, withoutEnds } from '../../text/characters.ts';
import { type Line, lines } from '../../text/markdown/lines.ts';
import { saysNone } from '../../text/markdown/lists.ts';

interface FindingsLog {
  /** Entries in order; if an id repeats, the later one. */
  readonly findings: readonly Finding[];
  /** The log has text, but neither an entry nor a statement that there is none: what is open is unknown. */
  readonly isUnread: boolean;
}

/**
 * Reads a log of findings outside code fences and comments. An entry is a heading with an id (`### FINDING-001: …`,
 * `## F1: …`) or with a status below it, a row of a table with a column for the status, or a list item with an id and a
 * box or a status, or with a status of its own. An id that has a heading is read there.
 */
export function readFindings(text: string): FindingsLog {
  const reader = new LogReader();
  for (const line of lines(text)) if (!line.inFence && line.text !== '') reader.read(line);
  return reader.log();
}

export function openFindings(text: string): readonly Finding[] {
  return readFindings(text).findings.filter(isOpen);
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
  #hasText = false;
  #hasTable = false;
  /** Lines that may say that there is no finding, which matters if there is none. */
  #said: string[] = [];

  read(line: Line): void {
    if (line.heading !== null) {
      this.#readHeading(line.heading.title, line.heading.level, line.number);
      return;
    }
    if (this.#readTable(line)) return;
    if (hasWord(line.text)) this.#hasText = true;
    this.#said.push(line.content);
    const status = statusField(line.content);
    if (line.itemsBegun > 0) this.#readItem(line, status);
    else if (line.listDepth === 0) this.#items = [];
    if (status !== undefined) this.#setStatus(status, line);
  }

  log(): FindingsLog {
    const others = [...this.#byLine].filter(([key]) => !this.#byHeading.has(key));
    const findings = [...this.#byHeading, ...others].map(([, finding]) => finding).sort((a, b) => a.line - b.line);
    const isUnread = findings.length === 0 && this.#hasText && !this.#hasTable && !this.#said.some(saysNone);
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
    if (PLACEHOLDER.test(title)) this.#heading = null;
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
    const [, mark] = /^\[([^\]])\][ \t]/u.exec(content) ?? [];
    const named = namedFinding(content);
    const own = status === undefined ? statusWord(content) : status;
    const byBox = mark === undefined ? undefined : /x/i.test(mark) ? 'FIXED' : 'OPEN';
    const key = named === null ? titleOf(content) : keyOf(named.id);
    this.#items.push({ key, level: listDepth, line: number });
    const found = own === undefined ? byBox : byBox === 'OPEN' ? 'OPEN' : own;
    if (named !== null && found !== undefined) add(this.#byLine, key, { ...named, status: found, line: number });
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

  /** Reads a line of a table; false if it is none. */
  #readTable({ text, number, isProse }: Line): boolean {
    const cells = isProse && text.includes('|') ? cellsOf(text) : null;
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
    if (this.#table === null) return false;
    this.#readRow(this.#table, cells, number);
    return true;
  }

  #readRow(columns: Columns, cells: readonly string[], line: number): void {
    const said = cells[columns.id] ?? '';
    const named = namedFinding(said) ?? { id: titleOf(said), title: '' };
    const title = columns.title === columns.id ? named.title : titleOf(cells[columns.title] ?? '');
    if (named.id === '' || PLACEHOLDER.test(said)) return;
    add(this.#byLine, keyOf(named.id), { id: named.id, title, status: statusOf(cells[columns.status] ?? ''), line });
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
}

/** Returns the columns of a table of findings; null if it has none for the status. */
function columnsOf(header: readonly string[]): Columns | null {
  const column = (name: RegExp): number => header.findIndex((cell) => name.test(cell.replace(/[*_`]/g, '').trim()));
  const status = column(/^(?:status|state)$/i);
  if (status === -1) return null;
  const id = Math.max(0, column(/^(?:id|#|no\.?|nr\.?|finding|issue)$/i));
  const title = column(/^(?:title|finding|issue|problem|description|summary|what)$/i);
  return { id, title: title === -1 ? id : title, status };
}

function cellsOf(row: string): string[] {
  const cells = row
    .trim()
    .replace(/^\|/, '')
    .split(/(?<!\\)\|/);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((cell) => cell.trim());
}

/** Heading or row of a template. */
const PLACEHOLDER = /\b(?:finding|f|id)[-_ #]?(?:n{1,3}|x{1,3}|<[^>]*>)(?![\w])/i;

/** Headings of a log besides its entries. */
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

/** Returns whether no status but FIXED and FIXED_… closes a finding: a refused true claim costs a turn, an accepted false one the loop. */
export function isOpen({ status }: Pick<Finding, 'status'>): boolean {
  return !/^FIXED(?:_|$)/.test(status ?? '');
}

const NAMED =
  /^[*_`~\s[(]{0,5}((?:(?:finding|find|issue|bug|defect|problem|vuln|vulnerability|risk)[-_ #]{0,2}|f[-_#]?|#)\d{1,9}(?:\.\d{1,9})*(?!\.?\w))[*_`~\s\])]{0,5}(.*)$/is;

/** Parses `FINDING-001: [Category] Title`, `F1 – Title` or `#3 Title`; null for a text without such an id. */
function namedFinding(text: string): Pick<Finding, 'id' | 'title'> | null {
  const [, id, rest = ''] = NAMED.exec(withoutBox(text)) ?? [];
  if (id === undefined) return null;
  return { id: id.toUpperCase().replace(/\s/g, '-'), title: titleOf(rest) };
}

/** Returns the words of a title, without marks, category and status. */
function titleOf(text: string): string {
  const lead = /^[\s:.–—-]+/;
  const words = withoutMarks(withoutStatus(text)).replace(lead, '');
  return withoutMarks(words.replace(/^\[[^\]]*\]/, '').replace(lead, ''));
}

const STATUS_FIELD = /^[\s>*_`+-]*status[\s*_`]*:(.*)$/is;
const STATUS_WITHIN = /[|,;·(–—-][\s*_`]*status[\s*_`]*:(.*)$/is;
const STATUS_WORD =
  /(?:^|[\s[(|–—:-])[*_`]*(?:(OPEN|FIXED(?:_[A-Z_]+)?)|[[(](open|fixed)(?=[\])]))[*_`]*(?=$|[\s\]).,:;|])/;

/** Returns the status that a field `Status: …` gives, at the beginning of a line or within it; undefined without a field. */
function statusField(line: string): string | null | undefined {
  const value = (STATUS_FIELD.exec(line) ?? STATUS_WITHIN.exec(line))?.[1];
  return value === undefined ? undefined : statusOf(value);
}

/** Returns the status that a line itself says: `OPEN` or `FIXED` in capitals or brackets. */
function statusWord(line: string): string | undefined {
  const [, word, inBrackets] = STATUS_WORD.exec(line.replace(/~~[^~]*~~/g, '')) ?? [];
  return word ?? inBrackets?.toUpperCase();
}

/** Returns the first word of a status, in capitals; a mere tick is FIXED. Text that is struck through does not count. */
function statusOf(value: string): string | null {
  const plain = value.replace(/~~[^~]*~~/g, '');
  return /[a-z]\w*/i.exec(plain)?.[0].toUpperCase() ?? (/[✅✔☑]/u.test(plain) ? 'FIXED' : null);
}

function withoutStatus(text: string): string {
  const word = STATUS_WORD.exec(text);
  const field = STATUS_WITHIN.exec(text);
  const at = Math.min(word?.index ?? text.length, field?.index ?? text.length);
  const rest = at === word?.index ? text.slice(at + word[0].length).replace(/^[\])]/, '') : '';
  return `${text.slice(0, at)} ${rest}`;
}

function withoutBox(text: string): string {
  return text.replace(/^\[[^\]]\][ \t]+/u, '');
}

/** Removes Markdown marks around a text. */
function withoutMarks(text: string): string {
  return withoutEnds(text, ' \t*_`#~');
}
