import { LINE_END } from '../characters.ts';
import { CommentReader, type Span } from './line-comments.ts';

/** Line of a Markdown text, with its position in fences, comments, quotes and lists. */
export interface Line {
  /** Text without its terminator and without comments. */
  readonly text: string;
  readonly number: number;
  /** Original line without its terminator, and its offset in the whole text. */
  readonly raw: string;
  readonly at: number;
  /** Column of the first non-blank character; tab stops are at every fourth column. */
  readonly column: number;
  /** Mark or content of a code fence. */
  readonly inFence: boolean;
  readonly fence: 'opens' | 'inside' | 'closes' | null;
  readonly inComment: boolean;
  /** Begins with a quote mark; lazy continuation lines do not count. */
  readonly inQuote: boolean;
  /** True in an HTML block, such as an unclosed comment; the other fields describe the line as if it were Markdown. */
  readonly inHtml: boolean;
  readonly indentedCode: boolean;
  /** Line of a paragraph, in a list item or outside. */
  readonly isProse: boolean;
  /** Number of open list items that contain the line, including those that begin on it. */
  readonly listDepth: number;
  /** Number of list items that begin on the line: `- 1. a` begins two. */
  readonly itemsBegun: number;
  /** Text without indentation and list marks. */
  readonly content: string;
  readonly heading: Heading | null;
  /** Comments that begin on the line, as offsets in the whole text. */
  readonly comments: readonly Span[];
}

interface Heading {
  readonly level: number;
  readonly title: string;
  /** True if the line underlines its title, the first line of the paragraph above. */
  readonly isUnderline: boolean;
}

type Structure = Partial<
  Omit<Line, 'text' | 'number' | 'raw' | 'at' | 'column' | 'inComment' | 'listDepth' | 'comments'>
>;

const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const MARKERS = /^(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*/;
const MARKER = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;
const NONE: Structure = {};
const NO_COMMENTS: readonly Span[] = [];

/**
 * Reads a Markdown text line by line, with the blocks of CommonMark, from a given line and its offset. An unclosed fence
 * extends to the end of its list item or of the text; an unclosed comment is text. Takes linear time and never throws.
 */
export function* lines(text: string, first = 1, from = text.startsWith('\uFEFF') ? 1 : 0): Generator<Line> {
  const reader = new BlockReader(text);
  const ending = new RegExp(LINE_END, 'g');
  let at = from;
  for (let number = first; ; number++) {
    ending.lastIndex = at;
    const end = ending.exec(text);
    yield reader.read(text.slice(at, end?.index ?? text.length), at, number);
    if (end === null) return;
    at = end.index + end[0].length;
  }
}

class BlockReader {
  readonly #comments: CommentReader;
  /** Columns at which the text of each open item begins, outermost first. */
  readonly #items: number[] = [];
  /** Open fence, and the content column of the item that contains it. */
  #fence: { readonly marks: string; readonly content: number } | null = null;
  /** HTML block of the line above, the number of items that contain it, and whether it ends with that line. */
  #html: (HtmlBlock & { readonly depth: number; readonly isOver: boolean }) | null = null;
  /** Block left open by the line above: prose continues it, however it is indented. */
  #continues: 'item' | 'quote' | 'paragraph' | null = null;
  /** First line of an open paragraph outside lists. */
  #paragraph = '';
  /** True if the line above began an item without text. */
  #isEmptyItem = false;

  constructor(text: string) {
    this.#comments = new CommentReader(text);
  }

  read(raw: string, at: number, number: number): Line {
    const trimmed = raw.trim();
    const start = columnOf(raw);
    const inHtml = this.#continueHtml(trimmed, start);
    const line = (structure: Structure, text = raw, inComment = false, comments = NO_COMMENTS): Line => ({
      text,
      number,
      raw,
      at,
      column: start,
      inFence: structure.inFence ?? false,
      fence: structure.fence ?? null,
      inComment,
      inQuote: structure.inQuote ?? false,
      inHtml: inHtml || (structure.inHtml ?? false),
      indentedCode: structure.indentedCode ?? false,
      isProse: structure.isProse ?? false,
      listDepth: this.#items.length,
      itemsBegun: structure.itemsBegun ?? 0,
      content: structure.content ?? '',
      heading: structure.heading ?? null,
      comments,
    });
    if (this.#comments.isInside(at + raw.length)) return line(NONE, '', true);
    const isContinued = this.#comments.isInside(at);
    if (trimmed === '' && !isContinued) {
      if (this.#fence !== null) return line({ inFence: true, fence: 'inside' });
      this.#endParagraph();
      return line(NONE);
    }
    const fence = isContinued ? null : this.#readFence(trimmed, start);
    if (fence !== null) return line({ inFence: true, fence, content: trimmed });
    const isCode = this.#isDeep(start, depthAt(this.#items, start)) && this.#continues === null && !isContinued;
    const mayHave = isContinued || (!isCode && raw.includes('<!--'));
    if (!mayHave || (!isContinued && openingMarks(trimmed.replace(MARKERS, '')) !== null))
      return line(this.#readStructure(trimmed, start, true));
    const { text, comments } = this.#comments.read(raw, at, trimmed.startsWith('>'));
    const shown = text.trim();
    // If a comment is removed, the rest takes its place.
    const structure = this.#readStructure(shown, start, text === raw);
    return line(structure, text, shown === '' && (comments.length > 0 || isContinued), comments);
  }

  /** Handles a blank line: only an indented line continues open blocks. */
  #endParagraph(): void {
    // An item that begins with a blank line ends with it.
    if (this.#isEmptyItem) this.#items.pop();
    this.#settle(this.#items.length);
  }

  /** Returns the line's role in an open fence; null if no fence is open any more. */
  #readFence(text: string, column: number): 'inside' | 'closes' | null {
    if (this.#fence === null) return null;
    const { marks, content } = this.#fence;
    if (column >= content) {
      const closes = column - content <= 3 && text.startsWith(marks) && text.replaceAll(marks.charAt(0), '') === '';
      if (!closes) return 'inside';
      this.#fence = null;
      return 'closes';
    }
    this.#fence = null;
    return null;
  }

  /** Returns whether the HTML block of the line above continues on this one. */
  #continueHtml(text: string, column: number): boolean {
    if (this.#html === null) return false;
    const { end, depth, isOver } = this.#html;
    if (!isOver && (text === '' ? end !== null : column >= (this.#items[depth - 1] ?? 0))) {
      this.#html = { end, depth, isOver: end?.test(text) ?? false };
      return true;
    }
    this.#html = null;
    this.#settle(Math.min(this.#items.length, depth));
    return false;
  }

  #readStructure(text: string, column: number, mayFence: boolean): Structure {
    const depth = depthAt(this.#items, column);
    const isDeep = this.#isDeep(column, depth);
    if (text === '' || (isDeep && this.#continues === null)) {
      this.#settle(depth);
      return { content: text, indentedCode: text !== '' };
    }
    return (
      (isDeep ? null : (this.#readBlock(text, depth, mayFence) ?? this.#readItems(text, column, depth, mayFence))) ??
      this.#readProse(text, depth)
    );
  }

  #isDeep(column: number, depth: number): boolean {
    return column - (this.#items[depth - 1] ?? 0) > 3;
  }

  /** Ends the items that do not contain a line of this depth. */
  #settle(depth: number): void {
    this.#items.length = depth;
    this.#continues = null;
    this.#isEmptyItem = false;
  }

  #readBlock(text: string, depth: number, mayFence: boolean): Structure | null {
    const [, hashes, title = ''] = /^(#{1,6})(?:[ \t]+(.*))?$/s.exec(text) ?? [];
    const isUnderline = this.#continues === 'paragraph' && /^(?:=+|-+)$/.test(text);
    const marks = mayFence ? openingMarks(text) : null;
    const inQuote = text.startsWith('>');
    const isHtml = this.#openHtml(text, depth, this.#continues !== null);
    if (!isUnderline && hashes === undefined && marks === null && !isHtml && !inQuote && !RULE.test(text)) return null;
    this.#settle(depth);
    if (isHtml) {
      this.#continues = 'item';
      return { content: text, isProse: true, inHtml: true };
    }
    if (inQuote) this.#continues = openedBy(text);
    if (isUnderline) {
      const level = text.startsWith('=') ? 1 : 2;
      return { content: text, heading: { level, title: this.#paragraph, isUnderline } };
    }
    if (hashes !== undefined) return { content: text, heading: { level: hashes.length, title, isUnderline } };
    return { content: text, inQuote, ...this.#openFence(marks, this.#items.at(-1) ?? 0) };
  }

  #openFence(marks: string | null, content: number): Structure {
    if (marks === null) return {};
    this.#fence = { marks, content };
    return { inFence: true, fence: 'opens' };
  }

  /** Returns whether the text begins an HTML block, which contains all lines until it ends. */
  #openHtml(text: string, depth: number, inParagraph: boolean): boolean {
    const block = this.#html === null ? htmlBlock(text, inParagraph) : null;
    if (block !== null) this.#html = { end: block.end, depth, isOver: block.end?.test(text) ?? false };
    return block !== null;
  }

  #readItems(text: string, column: number, depth: number, mayFence: boolean): Structure | null {
    const [marker] = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/.exec(text) ?? [];
    if (marker === undefined) return null;
    const isOpen = this.#continues === 'paragraph' || (this.#continues === 'item' && depth === this.#items.length);
    const inParagraph = isOpen && this.#html === null;
    // In a paragraph, a bare mark is text, and so is a number at the beginning of the line.
    if (inParagraph && (text === marker || (/^\d/.test(marker) && !/^1[.)]/.test(marker)))) return null;
    this.#settle(depth);
    const { content, columns, isCode } = peel(text, column);
    for (const each of columns) this.#items.push(each);
    const itemsBegun = columns.length;
    if (isCode) return { content, itemsBegun, indentedCode: true };
    this.#isEmptyItem = content === '';
    this.#continues = openedBy(content);
    const fence = this.#openFence(mayFence ? openingMarks(content) : null, columns.at(-1) ?? 0);
    const inHtml = this.#openHtml(content, this.#items.length, false);
    return { content, itemsBegun, inQuote: content.startsWith('>'), inHtml, ...fence };
  }

  #readProse(text: string, depth: number): Structure {
    if (this.#continues === null) {
      this.#settle(depth);
      this.#continues = this.#items.length > 0 ? 'item' : 'paragraph';
      this.#paragraph = text;
    }
    return { content: text, isProse: true };
  }
}

function columnOf(line: string): number {
  let column = 0;
  for (const character of line.slice(0, line.length - line.trimStart().length))
    column += character === '\t' ? 4 - (column % 4) : 1;
  return column;
}

function depthAt(items: readonly number[], column: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle] ?? 0) <= column) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the block that the text of a list item or a quote opens, or null. */
function openedBy(text: string): 'item' | 'quote' | null {
  const inner = text.replace(/^[>\s]+/, '');
  const isProse =
    inner !== '' && openingMarks(inner) === null && !/^#{1,6}(?:[ \t]|$)/.test(inner) && !RULE.test(inner);
  return isProse ? (text.startsWith('>') ? 'quote' : 'item') : null;
}

function openingMarks(text: string): string | null {
  const [, marks, info = ''] = /^(`{3,}|~{3,})(.*)$/s.exec(text) ?? [];
  return marks === undefined || (marks.startsWith('`') && info.includes('`')) ? null : marks;
}

/** Returns the content column of each item that begins on the line; `isCode`: enough blanks precede the content. */
function peel(text: string, column: number) {
  const columns: number[] = [];
  let at = 0;
  let begin = column;
  for (;;) {
    MARKER.lastIndex = at;
    const marker = MARKER.exec(text)?.[0];
    if (marker === undefined) return { content: text.slice(at), columns, isCode: false };
    const after = at + marker.length;
    let next = after;
    let to = begin + marker.length;
    for (; text[next] === ' ' || text[next] === '\t'; next++) to += text[next] === '\t' ? 4 - (to % 4) : 1;
    const isEmpty = next === text.length;
    const isCode = !isEmpty && to - begin - marker.length > 4;
    // The content of an empty item, or its code, begins one column after the mark.
    columns.push(isEmpty || isCode ? begin + marker.length + 1 : to);
    if (isEmpty || isCode) return { content: text.slice(next), columns, isCode };
    at = next;
    begin = to;
  }
}

const BLOCKS =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul';
const BLANKS = '[ \\t]';
const ATTRIBUTE = `${BLANKS}+[a-z_:][\\w.:-]*(?:${BLANKS}*=${BLANKS}*(?:[^\\s"'=<>\`]+|'[^']*'|"[^"]*"))?`;

/** Patterns for the beginning and the end of HTML blocks; without an end pattern, a block ends before a blank line. */
const KINDS: readonly { readonly start: RegExp; readonly end: RegExp | null }[] = [
  { start: /^<(?:script|pre|style|textarea)(?:[\s>]|$)/i, end: /<\/(?:script|pre|style|textarea)>/i },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  { start: /^<![a-z]/i, end: />/ },
  { start: new RegExp(`^</?(?:${BLOCKS})(?:\\s|/?>|$)`, 'i'), end: null },
];
/** Pattern for any other tag alone on its line: it begins a block but does not end a paragraph. */
const LONE_TAG = new RegExp(`^<(?:[a-z][a-z\\d-]*(?:${ATTRIBUTE})*${BLANKS}*/?|/[a-z][a-z\\d-]*${BLANKS}*)>$`, 'i');

/** HTML block of CommonMark, which ends with the line that matches `end`, or before a blank line. */
interface HtmlBlock {
  readonly end: RegExp | null;
}

/** Returns the HTML block that a line without indentation begins; null if it begins none. */
function htmlBlock(text: string, inParagraph: boolean): HtmlBlock | null {
  if (!text.startsWith('<')) return null;
  return KINDS.find(({ start }) => start.test(text)) ?? (!inParagraph && LONE_TAG.test(text) ? { end: null } : null);
}
