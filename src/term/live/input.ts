import { createInterface, emitKeypressEvents, type Key as PressedKey } from 'node:readline';
import { PassThrough } from 'node:stream';
import { graphemes } from '../write-text.ts';

export interface InputLine {
  readonly text: string;
  /** Cursor position, between two characters. */
  readonly at: number;
  /** Messages sent earlier, oldest first. */
  readonly history: readonly string[];
  /** Index of the shown message; null while the user types a new one. */
  readonly recalled: number | null;
  /** Text before the user recalled a message. */
  readonly draft: string;
}

export const NEW_INPUT: InputLine = { text: '', at: 0, history: [], recalled: null, draft: '' };

const REMEMBERED = 100;

export const EDITS = {
  left: (input) => ({ ...input, at: input.at - lengthBefore(input) }),
  right: (input) => ({ ...input, at: input.at + lengthAfter(input) }),
  'word-left': (input) => ({ ...input, at: wordStart(input) }),
  'word-right': (input) => {
    return { ...input, at: input.at + (/^\s*\S*/.exec(input.text.slice(input.at))?.[0].length ?? 0) };
  },
  home: (input) => ({ ...input, at: lineStart(input.text, input.at) }),
  end: (input) => ({ ...input, at: lineEnd(input.text, input.at) }),
  up: (input) => (lineStart(input.text, input.at) > 0 ? toLine(input, -1) : recalled(input, -1)),
  down: (input) => (lineEnd(input.text, input.at) < input.text.length ? toLine(input, 1) : recalled(input, 1)),
  backspace: (input) => without(input, input.at - lengthBefore(input), input.at),
  delete: (input) => without(input, input.at, input.at + lengthAfter(input)),
  'delete-word': (input) => without(input, wordStart(input), input.at),
  'delete-before': (input) => without(input, lineStart(input.text, input.at), input.at),
  'delete-after': (input) => without(input, input.at, lineEnd(input.text, input.at)),
} satisfies Record<string, (input: InputLine) => InputLine>;

type Edit = keyof typeof EDITS;

/** Inserts a text at the cursor. A lone line end begins no message: an Enter typed before the view opened arrives as one. */
export function inserted(input: InputLine, text: string): InputLine {
  const { at } = input;
  if (input.text === '' && text === '\n') return input;
  return { ...input, text: input.text.slice(0, at) + text + input.text.slice(at), at: at + text.length };
}

/** Adds the line to the history and begins an empty one. */
export function sent(input: InputLine): InputLine {
  const { text, history } = input;
  const known = text.trim() === '' || history.at(-1) === text;
  return { ...NEW_INPUT, history: known ? history : [...history, text].slice(-REMEMBERED) };
}

function without(input: InputLine, from: number, to: number): InputLine {
  return { ...input, text: input.text.slice(0, from) + input.text.slice(to), at: from };
}

function recalled(input: InputLine, step: 1 | -1): InputLine {
  const { history, recalled: shown, text, draft } = input;
  const next = (shown ?? history.length) + step;
  if (next < 0 || next > history.length || (shown === null && step === 1)) return input;
  const kept = shown === null ? text : draft;
  const line = next === history.length ? kept : (history[next] ?? '');
  return { ...input, text: line, at: line.length, recalled: next === history.length ? null : next, draft: kept };
}

function wordStart({ text, at }: InputLine): number {
  return at - (/\S*\s*$/.exec(text.slice(0, at))?.[0].length ?? 0);
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** Moves the cursor to the same column of the line above or below. */
function toLine(input: InputLine, step: 1 | -1): InputLine {
  const { text, at } = input;
  const start = lineStart(text, at);
  const other = step === -1 ? lineStart(text, start - 1) : lineEnd(text, at) + 1;
  return { ...input, at: Math.min(other + (at - start), lineEnd(text, other)) };
}

function lengthBefore({ text, at }: InputLine): number {
  return graphemes(text.slice(0, at)).at(-1)?.text.length ?? 0;
}

function lengthAfter({ text, at }: InputLine): number {
  return graphemes(text.slice(at))[0]?.text.length ?? 0;
}

/** Key of the live view. A paste is one text. */
export type Key =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'edit'; readonly edit: Edit }
  | { readonly kind: Action };

type Action = 'enter' | 'alt-enter' | 'escape' | 'interrupt' | 'stop' | 'suspend' | 'redraw' | 'next';

/** Keys of each action by their names in node, with `C-` for Ctrl and `M-` for Alt. */
const KEYS: Readonly<Record<Edit | Action | 'newline', string>> = {
  enter: 'return',
  newline: 'enter',
  'alt-enter': 'M-return M-enter M-n',
  escape: 'M-escape',
  interrupt: 'C-c',
  stop: 'C-x',
  suspend: 'C-z',
  redraw: 'C-l',
  next: 'tab',
  left: 'left C-b',
  right: 'right C-f',
  up: 'up C-p',
  down: 'down C-n',
  home: 'home C-a',
  end: 'end C-e',
  'word-left': 'C-left M-left M-b',
  'word-right': 'C-right M-right M-f',
  backspace: 'backspace',
  delete: 'delete C-d',
  'delete-word': 'C-w M-backspace',
  'delete-before': 'C-u',
  'delete-after': 'C-k',
};
const BY_NAME = new Map(
  (Object.keys(KEYS) as (keyof typeof KEYS)[]).flatMap((action) =>
    KEYS[action].split(' ').map((name) => [name, action] as const),
  ),
);

/** Sequences of terminals with extended keys, for which node has no name. */
const BY_SEQUENCE = new Map<string, Action | 'newline'>([
  ['\u001b[13;2u', 'newline'],
  ['\u001b[27;2;13~', 'newline'],
  ['\u001b[13;3u', 'alt-enter'],
  ['\u001b[27;3;13~', 'alt-enter'],
  ['\u001b[27u', 'escape'],
]);

/** Pattern for a control sequence without its last byte: node cuts sequences with more parameters than it expects. */
const CUT_SEQUENCE = /^\u001b\[[0-?]+$/;
const CONTROL = /[\u0000-\u001f\u007f]/;
/** Milliseconds after which a lone Escape is the key and not the beginning of a sequence. */
const ESCAPE_MS = 40;
/** Milliseconds after which an unterminated paste is over. */
const PASTE_MS = 1_000;

/** Calls `onKey` for each key that the terminal sends, in order. Returns a function that stops this. */
export function readKeys(input: NodeJS.ReadableStream, onKey: (key: Key) => void): () => void {
  let cut = '';
  let paste: { text: string; readonly timeout: NodeJS.Timeout } | null = null;
  const endPaste = (): void => {
    if (paste === null) return;
    clearTimeout(paste.timeout);
    const text = paste.text.replace(/\r\n?/g, '\n');
    paste = null;
    if (text !== '') onKey({ kind: 'text', text });
  };
  const onKeypress = (text: string | undefined, pressed: PressedKey): void => {
    const sequence = cut + (pressed.sequence ?? '');
    if (paste !== null) {
      if (pressed.name === 'paste-end') {
        endPaste();
        return;
      }
      paste.text += sequence;
      paste.timeout.refresh();
      return;
    }
    if (pressed.name === 'paste-start') {
      paste = { text: '', timeout: setTimeout(endPaste, PASTE_MS) };
      return;
    }
    const isCut = CUT_SEQUENCE.test(sequence);
    const { name = '', ctrl, meta } = pressed;
    const pressedName = `${ctrl === true ? 'C-' : ''}${meta === true ? 'M-' : ''}${name}`;
    const known = BY_SEQUENCE.get(sequence) ?? (cut === '' ? BY_NAME.get(pressedName) : undefined);
    const typed = cut === '' && text !== undefined && !CONTROL.test(text) ? text : null;
    cut = isCut ? sequence : '';
    if (known !== undefined) onKey(keyOf(known));
    else if (!isCut && typed !== null) onKey({ kind: 'text', text: typed });
  };
  // The interface only provides the time limit.
  emitKeypressEvents(input, createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }));
  input.on('keypress', onKeypress);
  return () => {
    input.off('keypress', onKeypress);
    if (paste !== null) clearTimeout(paste.timeout);
    paste = null;
  };
}

function keyOf(known: Edit | Action | 'newline'): Key {
  if (known === 'newline') return { kind: 'text', text: '\n' };
  return isEdit(known) ? { kind: 'edit', edit: known } : { kind: known };
}

function isEdit(known: Edit | Action): known is Edit {
  return Object.hasOwn(EDITS, known);
}
