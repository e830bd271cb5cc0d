import { firstWordAt, hasWord, LINE_END } from '../../text/characters.ts';
import { lines } from '../../text/markdown/lines.ts';
import { type ListItem, readLists, saysNone } from '../../text/markdown/lists.ts';
import { compareItems, type Item, saysNoMore, saysNothing, textsOf } from './items.ts';

/** Entry of a file written by the agent. */
export interface Entry extends Item {
  readonly isOpen: boolean;
}

interface Owed<T extends Entry> {
  /** First lines of entries that were seen open and are gone. */
  readonly missing: readonly string[];
  /** Entries that were seen open and are no longer open, but were not closed either. */
  readonly evaded: readonly T[];
  /** First lines of all entries that have been seen open and not yet closed. */
  readonly owed: readonly string[];
}

/**
 * Compares the entries seen open earlier with the current ones. What was once seen open must be seen closed: an entry that is
 * missing, or neither open nor closed, is still owed. A closed one may be removed.
 */
export function compareOwed<T extends Entry>(
  had: readonly string[],
  now: readonly T[],
  isClosed: (seen: string, entry: T) => boolean,
): Owed<T> {
  const { missing, found, added } = compareItems(had, now);
  const left = found.filter(({ text, item }) => item.isOpen || !isClosed(text, item));
  return {
    missing,
    evaded: left.map(({ item }) => item).filter(({ isOpen }) => !isOpen),
    owed: [...missing, ...left.map(({ text }) => text), ...textsOf(added.filter(({ isOpen }) => isOpen))],
  };
}

/** List item of OPEN_QUESTIONS.md. */
export interface Question extends Entry, Pick<ListItem, 'line' | 'checked' | 'nested' | 'inDone'> {
  /** Innermost section that contains it; `P0` if the heading names both; null outside P0 and P1. */
  readonly section: 'P0' | 'P1' | null;
  /** True if there are words below it: in an item inside it, or in lines before the next one. */
  readonly hasNote: boolean;
}

export interface QuestionsFile {
  readonly questions: readonly Question[];
  /**
   * True if it is unknown what is open: the file, or a section of P0 or P1, has text, but no section of a priority, or no
   * item, and no statement that nothing is open.
   */
  readonly isUnread: boolean;
}

/** `next`: index in `begins` of the next item or heading. */
type FoundQuestion = Omit<Question, 'hasNote'> & { readonly next: number };

/** Pattern for other texts below a priority's heading that say that it has no question: `No open P1 items yet.` */
const NO_ITEM =
  /^(?:(?:currently|still) )?(?:none|nothing|empty|not applicable|no (?:(?:open|remaining|further|p[01]) )*(?:items?|entries|blockers?|p[01]s?))(?: (?:are|is|open|left|remain(?:s|ing)?|yet|now|so far|at (?:this time|the moment|present)))*[^\p{L}\p{N}]*$/iu;
/** Pattern for the first word of a heading: `P0`, `P0 / P1`. */
const PRIORITIES = /^P(\d)(?:\s*\/\s*P([01]))?(?![\p{L}\p{N}])/iu;

/** Reads the items of OPEN_QUESTIONS.md, without prose, code, comments and quotes. Without an x, an item is open. */
export function readQuestions(text: string): QuestionsFile {
  let sections: { readonly name: 'P0' | 'P1'; readonly level: number; readonly line: number }[] = [];
  /** Sections without an item: the line of each heading, and the line where the following part begins. */
  const bare = new Map<number, number>();
  let hasPriority = false;
  const found: FoundQuestion[] = [];
  /** Lines on which an item or a heading begins. */
  const begins: number[] = [];
  readLists(text, {
    heading: (title, level, line) => {
      begins.push(line);
      // A heading ends the sections of its own level and of deeper ones, and may begin one.
      for (const each of sections) if (each.level >= level && bare.has(each.line)) bare.set(each.line, line);
      sections = sections.filter((section) => section.level < level);
      const plain = title.replace(/[*_]/g, '');
      // The first priority may be any digit.
      const named = PRIORITIES.exec(plain.slice(firstWordAt(plain)))?.slice(1);
      hasPriority ||= named !== undefined;
      if (named?.[0] !== '0' && named?.[0] !== '1') return;
      sections.push({ name: named.includes('0') ? 'P0' : 'P1', level, line });
      bare.set(line, Number.POSITIVE_INFINITY);
    },
    item: ({ checked, inDone, nested, line, text: said, paragraph }) => {
      begins.push(line);
      const section = sections.at(-1)?.name ?? null;
      for (const each of sections) bare.delete(each.line);
      // A plain item below a checked one is a note.
      const isOpen = section !== null && (checked === null ? !inDone : !checked);
      found.push({ section, line, text: said, paragraph, isOpen, checked, nested, inDone, next: begins.length });
    },
  });
  const raw = text.split(LINE_END);
  const hasText = raw.some((line) => hasWord(line) && !/^\s*(?:#|<!--)/.test(line));
  return {
    questions: found.map(({ next, ...question }, at) => {
      const end = begins[next] ?? raw.length + 1;
      return { ...question, hasNote: hasNote(question, found[at + 1], end, raw) };
    }),
    isUnread:
      (!hasPriority && hasText && !raw.some(saysNone)) || [...bare].some(([from, to]) => hasProse(text, from, to)),
  };
}

/** Returns whether there are words between two lines and none of them says that nothing is open. */
function hasProse(text: string, from: number, to: number): boolean {
  const within = [...lines(text)].filter(({ number, isProse }) => isProse && number > from && number < to);
  const isNone = (said: string): boolean => saysNone(said) || NO_ITEM.test(said.slice(firstWordAt(said)));
  return within.some(({ content }) => hasWord(content)) && !within.some(({ content }) => isNone(content));
}

/** Compares the questions seen open earlier with the current ones. An answer stands after a question or below it. */
export function compareQuestions(had: readonly string[], questions: readonly Question[]): Owed<Question> {
  const now = questions.map((question) => {
    // A plain item inside another is a note on it, not a question.
    const isNote = question.nested && question.checked === null;
    return isNote ? { ...question, isOpen: false } : question;
  });
  return compareOwed(had, now, (seen, { checked, inDone, hasNote: noted, ...item }) =>
    checked === null ? inDone : checked && (noted || !saysNoMore(seen, item)),
  );
}

function hasNote(
  { line, nested }: Omit<Question, 'hasNote'>,
  next: FoundQuestion | undefined,
  end: number,
  lines: readonly string[],
): boolean {
  if (next?.nested === true && !nested && !saysNothing(next.text)) return true;
  const below = lines.slice(line, end - 1).join('\n');
  return below
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .split('\n')
    .some((text) => !saysNothing(text));
}
