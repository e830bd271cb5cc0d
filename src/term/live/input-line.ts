import { graphemes } from '../wrap.ts';

/** What the user is writing. */
export interface InputLine {
  readonly text: string;
  /** Where the cursor stands in it, between two characters. */
  readonly at: number;
  /** What was sent before, oldest first. */
  readonly history: readonly string[];
  /** Which of it is shown; null while the user writes something new. */
  readonly recalled: number | null;
  /** What the user was writing before they looked back. */
  readonly draft: string;
}

export const NEW_INPUT: InputLine = { text: '', at: 0, history: [], recalled: null, draft: '' };

const REMEMBERED = 100;

export type Edit =
  | 'left'
  | 'right'
  | 'word-left'
  | 'word-right'
  | 'home'
  | 'end'
  | 'up'
  | 'down'
  | 'backspace'
  | 'delete'
  | 'delete-word'
  | 'delete-before'
  | 'delete-after';

export function inserted(input: InputLine, text: string): InputLine {
  const { at } = input;
  return { ...input, text: input.text.slice(0, at) + text + input.text.slice(at), at: at + text.length };
}

/** The line is sent: an empty one begins. */
export function sent(input: InputLine): InputLine {
  const { text, history } = input;
  const known = text.trim() === '' || history.at(-1) === text;
  return { ...NEW_INPUT, history: known ? history : [...history, text].slice(-REMEMBERED) };
}

export function edited(input: InputLine, edit: Edit): InputLine {
  const { text, at } = input;
  switch (edit) {
    case 'left':
      return { ...input, at: at - lengthBefore(text, at) };
    case 'right':
      return { ...input, at: at + lengthAfter(text, at) };
    case 'word-left':
      return { ...input, at: wordStart(text, at) };
    case 'word-right':
      return { ...input, at: at + (/^\s*\S*/.exec(text.slice(at))?.[0].length ?? 0) };
    case 'home':
      return { ...input, at: lineStart(text, at) };
    case 'end':
      return { ...input, at: lineEnd(text, at) };
    case 'up':
      return lineStart(text, at) > 0 ? { ...input, at: toLine(text, at, -1) } : recalled(input, -1);
    case 'down':
      return lineEnd(text, at) < text.length ? { ...input, at: toLine(text, at, 1) } : recalled(input, 1);
    case 'backspace':
      return without(input, at - lengthBefore(text, at), at);
    case 'delete':
      return without(input, at, at + lengthAfter(text, at));
    case 'delete-word':
      return without(input, wordStart(text, at), at);
    case 'delete-before':
      return without(input, lineStart(text, at), at);
    case 'delete-after':
      return without(input, at, lineEnd(text, at));
    default:
      return edit satisfies never;
  }
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

function wordStart(text: string, at: number): number {
  return at - (/\S*\s*$/.exec(text.slice(0, at))?.[0].length ?? 0);
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

/** The same column of the line above or below. */
function toLine(text: string, at: number, step: 1 | -1): number {
  const start = lineStart(text, at);
  const other = step === -1 ? lineStart(text, start - 1) : lineEnd(text, at) + 1;
  return Math.min(other + (at - start), lineEnd(text, other));
}

function lengthBefore(text: string, at: number): number {
  return graphemes(text.slice(0, at)).at(-1)?.text.length ?? 0;
}

function lengthAfter(text: string, at: number): number {
  return graphemes(text.slice(at))[0]?.text.length ?? 0;
}
