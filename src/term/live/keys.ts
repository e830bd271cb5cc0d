import type { Edit } from './input-line.ts';

/** What the user pressed. */
export type Key =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'edit'; readonly edit: Edit }
  | { readonly kind: 'enter' | 'alt-enter' | 'escape' | 'interrupt' | 'suspend' | 'redraw' };

/** What came and is no whole key yet. */
export interface Unread {
  readonly rest: string;
  /** Within a paste: everything is text until its end. */
  readonly pasting: boolean;
}

export const NOTHING_UNREAD: Unread = { rest: '', pasting: false };

const PASTE_START = '\u001b[200~';
const PASTE_END = '\u001b[201~';
const ESCAPE = '\u001b';

const CONTROL: Readonly<Record<string, Key>> = {
  '\r': { kind: 'enter' },
  '\n': { kind: 'text', text: '\n' },
  '\u0001': { kind: 'edit', edit: 'home' },
  '\u0002': { kind: 'edit', edit: 'left' },
  '\u0003': { kind: 'interrupt' },
  '\u0004': { kind: 'edit', edit: 'delete' },
  '\u0005': { kind: 'edit', edit: 'end' },
  '\u0006': { kind: 'edit', edit: 'right' },
  '\b': { kind: 'edit', edit: 'backspace' },
  '\u000b': { kind: 'edit', edit: 'delete-after' },
  '\u000c': { kind: 'redraw' },
  '\u000e': { kind: 'edit', edit: 'down' },
  '\u0010': { kind: 'edit', edit: 'up' },
  '\u0015': { kind: 'edit', edit: 'delete-before' },
  '\u0017': { kind: 'edit', edit: 'delete-word' },
  '\u001a': { kind: 'suspend' },
  '\u007f': { kind: 'edit', edit: 'backspace' },
};

/** What follows Escape, whole: as terminals send it with and without their modes. */
const SEQUENCES: Readonly<Record<string, Key>> = {
  '[A': { kind: 'edit', edit: 'up' },
  '[B': { kind: 'edit', edit: 'down' },
  '[C': { kind: 'edit', edit: 'right' },
  '[D': { kind: 'edit', edit: 'left' },
  '[H': { kind: 'edit', edit: 'home' },
  '[F': { kind: 'edit', edit: 'end' },
  '[1~': { kind: 'edit', edit: 'home' },
  '[7~': { kind: 'edit', edit: 'home' },
  '[4~': { kind: 'edit', edit: 'end' },
  '[8~': { kind: 'edit', edit: 'end' },
  '[3~': { kind: 'edit', edit: 'delete' },
  '[1;5C': { kind: 'edit', edit: 'word-right' },
  '[1;3C': { kind: 'edit', edit: 'word-right' },
  '[1;5D': { kind: 'edit', edit: 'word-left' },
  '[1;3D': { kind: 'edit', edit: 'word-left' },
  '[13;3u': { kind: 'alt-enter' },
  '[27;3;13~': { kind: 'alt-enter' },
  '[13;2u': { kind: 'text', text: '\n' },
  '[27;2;13~': { kind: 'text', text: '\n' },
  '[27u': { kind: 'escape' },
  '\r': { kind: 'alt-enter' },
  '\n': { kind: 'alt-enter' },
  n: { kind: 'alt-enter' },
  b: { kind: 'edit', edit: 'word-left' },
  f: { kind: 'edit', edit: 'word-right' },
  '\u007f': { kind: 'edit', edit: 'delete-word' },
  '\b': { kind: 'edit', edit: 'delete-word' },
};

/**
 * The keys in what the terminal sent, and what is left of it: a sequence whose end is still to come. With `last` nothing
 * is still to come: a lone Escape is the key, and a paste without an end is over.
 */
export function readKeys({ rest, pasting }: Unread, chunk: string, last = false): { keys: Key[]; unread: Unread } {
  const keys: Key[] = [];
  let left = rest + chunk;
  let inPaste = pasting;
  while (left !== '') {
    if (inPaste) {
      const end = left.indexOf(PASTE_END);
      const kept = end === -1 && !last ? openEnd(left, PASTE_END) : 0;
      const text = left.slice(0, end === -1 ? left.length - kept : end);
      if (text !== '') keys.push({ kind: 'text', text: text.replace(/\r\n?/g, '\n') });
      left = left.slice(end === -1 ? left.length - kept : end + PASTE_END.length);
      inPaste = end === -1 && !last;
      if (end === -1) break;
      continue;
    }
    if (left.startsWith(PASTE_START)) {
      left = left.slice(PASTE_START.length);
      inPaste = true;
      continue;
    }
    const one = readOne(left, last);
    if (one === null) break;
    if (one.key !== null) keys.push(one.key);
    left = left.slice(one.length);
  }
  return { keys, unread: { rest: left, pasting: inPaste && !last } };
}

/** The first key of a text that is not empty; null where its end is still to come. */
function readOne(text: string, last: boolean): { readonly key: Key | null; readonly length: number } | null {
  const first = text[0] ?? '';
  if (first === ESCAPE) return readEscape(text, last);
  const control = CONTROL[first];
  if (control !== undefined) return { key: control, length: 1 };
  const plain = /^[^\u0000-\u001f\u007f]+/.exec(text)?.[0];
  return plain === undefined ? { key: null, length: 1 } : { key: { kind: 'text', text: plain }, length: plain.length };
}

function readEscape(text: string, last: boolean): { readonly key: Key | null; readonly length: number } | null {
  const after = text.slice(1);
  if (after === '') return last ? { key: { kind: 'escape' }, length: 1 } : null;
  if (after.startsWith(ESCAPE)) return { key: { kind: 'escape' }, length: 1 };
  const whole = /^(?:\[[0-?]*[ -/]*[@-~]|O[ -~])/.exec(after)?.[0];
  if (whole === undefined && /^[[O]/.test(after)) {
    // Cut off, or no sequence at all: Escape, and then something else.
    if (!last && /^(?:\[[0-?]*[ -/]*|O)$/.test(after)) return null;
    return { key: { kind: 'escape' }, length: 1 };
  }
  const name = whole ?? /^./su.exec(after)?.[0] ?? '';
  const key = SEQUENCES[name.replace(/^O(?=[A-Z])/, '[')] ?? null;
  return { key, length: 1 + name.length };
}

/** How much of the end of a text may be the beginning of `mark`. */
function openEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

/** A lone Escape is a key when nothing follows it for so long; a sequence comes at once. */
const ESCAPE_MS = 40;
/** A paste of which nothing more comes is over, whether or not its end was seen. */
const PASTE_MS = 1_000;

export interface KeyReader {
  readonly read: (chunk: string) => void;
  /** What is not read yet is forgotten. */
  readonly stop: () => void;
}

/** Cuts what the terminal sends into keys, in order. */
export function keyReader(onKey: (key: Key) => void): KeyReader {
  let unread = NOTHING_UNREAD;
  let waiting: NodeJS.Timeout | undefined;
  const hear = (chunk: string, last: boolean): void => {
    clearTimeout(waiting);
    const read = readKeys(unread, chunk, last);
    unread = read.unread;
    for (const key of read.keys) onKey(key);
    if (unread.rest === '' && !unread.pasting) return;
    waiting = setTimeout(() => hear('', true), unread.pasting ? PASTE_MS : ESCAPE_MS);
  };
  return {
    read: (chunk) => hear(chunk, false),
    stop: () => {
      clearTimeout(waiting);
      unread = NOTHING_UNREAD;
    },
  };
}
