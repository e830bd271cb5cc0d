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

export type Edit = keyof typeof EDITS;

/** Inserts a text at the cursor. A line end alone begins no message: an Enter typed before the view opened arrives as one. */
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
