import { forEachChild, parse, type SyntaxNode } from 'unbash';

/** How a shell reads what stands at a place of its text, or, for a place where no value can be quoted, what that is. */
export type ShellPlace = 'bare' | 'single' | 'double' | { readonly unsafe: string };

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What is open: `code` is the shell's own language, at the bottom, in `(…)` and in `$(…)`. */
type Frame = 'code' | 'single' | 'double' | 'comment';

interface Reading {
  readonly text: string;
  readonly frames: Frame[];
  at: number;
  /** A word could begin here, and so could a comment. */
  begins: boolean;
  /** From here on nothing is known for certain: what was too much for this reader. */
  lost: string | null;
}

/** An expansion that holds nothing but names and plain characters. */
const PLAIN_EXPANSION = /\$\{[^'"`\\${}()]*\}/y;
const HERE_DOCUMENT = 'in or after a here-document';
const ARITHMETIC = 'in or after an arithmetic expression';

/**
 * How bash and every POSIX shell read each of these spans, which are in order and stand for one value each. Sure rather
 * than clever: once something comes that only a whole parser follows, every later place is unsafe.
 */
export function shellPlaces(text: string, spans: readonly Span[]): ShellPlace[] {
  const reading: Reading = { text, frames: ['code'], at: 0, begins: true, lost: null };
  return spans.map(({ start, end }) => {
    while (reading.at < start) step(reading);
    const place = placeAt(reading, start);
    reading.at = Math.max(reading.at, end);
    reading.begins = false;
    return place;
  });
}

function placeAt({ text, frames, at, lost }: Reading, start: number): ShellPlace {
  if (lost !== null) return { unsafe: lost };
  if (at > start) return { unsafe: 'directly after a backslash' };
  const top = frames.at(-1);
  if (top === 'comment') return { unsafe: 'in a comment' };
  if (top === 'single') return 'single';
  if (text[start - 1] === '$') return { unsafe: 'directly after $' };
  return top === 'double' ? 'double' : 'bare';
}

/** Goes on by one character, or by what belongs together. */
function step(reading: Reading): void {
  const { text, frames, at } = reading;
  const char = text[at];
  reading.at += 1;
  switch (frames.at(-1)) {
    case 'single':
      if (char === "'") frames.pop();
      break;
    case 'comment':
      if (char === '\n') {
        frames.pop();
        reading.begins = true;
      }
      break;
    case 'double':
      if (char === '\\') reading.at += 1;
      else if (char === '"') frames.pop();
      else opening(reading, at);
      break;
    default:
      code(reading, at);
  }
}

function code(reading: Reading, at: number): void {
  const { text, frames, begins } = reading;
  const char = text[at] ?? '';
  // A backslash takes a line's end away; whatever else follows it is part of a word.
  reading.begins = char === '\\' ? begins && text[at + 1] === '\n' : /[ \t\n;&|()<>]/.test(char);
  if (char === '\\') reading.at += 1;
  else if (char === "'" || char === '"') frames.push(char === '"' ? 'double' : 'single');
  // After $(…) it goes on with a word, after (…) it begins a comment; in the brackets of a pattern it is a character.
  else if (char === '#' && /[()]/.test(text[at - 1] ?? '')) reading.lost = 'after a # beside a bracket';
  else if (char === '#' && begins) frames.push('comment');
  else if (char === ')' && frames.length > 1) frames.pop();
  else if (char === '(' && text[at + 1] === '(') reading.lost = ARITHMETIC;
  else if (char === '(') frames.push('code');
  else if (text.startsWith('<<<', at)) reading.at += 2;
  else if (text.startsWith('<<', at)) reading.lost = HERE_DOCUMENT;
  else if (text.startsWith('=~', at)) reading.lost = 'after =~';
  // The brackets of its patterns close nothing.
  else if (begins && frames.length > 1 && /^case\b/.test(text.slice(at, at + 5)))
    reading.lost = 'after a case in brackets';
  else opening(reading, at);
}

/** What may begin within double quotes as well as outside. */
function opening(reading: Reading, at: number): void {
  const { text, frames } = reading;
  if (text[at] === '`') reading.lost = 'in or after backticks';
  if (text[at] !== '$') return;
  const next = text[at + 1];
  if (next === '[' || text.startsWith('((', at + 1)) reading.lost = ARITHMETIC;
  else if (next === '(') {
    frames.push('code');
    reading.begins = true;
    reading.at = at + 2;
  } else if (next === '{') {
    PLAIN_EXPANSION.lastIndex = at;
    const expansion = PLAIN_EXPANSION.exec(text);
    if (expansion === null) reading.lost = 'in or after an expansion in braces';
    else reading.at = at + expansion[0].length;
  } else if (next === "'" && frames.at(-1) === 'code') {
    reading.lost = "in or after $'…', which not every shell knows";
  } else if (next === '$') {
    reading.at = at + 2; // the shell's own process id
  }
}

const SHELLS = /^(?:ba|z|da|k|a|fi|c|tc)?sh$|^(?:su|busybox|pwsh|powershell)(?:\.exe)?$/;
const INTERPRETERS = /^(?:python|node|nodejs|deno|bun|ruby|perl|php|lua|osascript|Rscript)[\d.]*$/;
/** What reads its words as shell code, whatever they are. */
const EVALUATES = new Set(['eval', 'trap', 'ssh', 'watch']);
const SHELL_CODE = /^-[a-zA-Z]*c$|^--?command$/i;
const INTERPRETER_CODE = /^-[a-zA-Z]*[cepEr]$|^--(?:eval|print|run)$/;

/**
 * Whether a shell text hands over a word with `mark` in it as code: to eval, to `bash -c`, to `python -c`. There the
 * value would be read once more, by other rules than those that it was quoted by.
 */
export function isInCode(text: string, mark: string): boolean {
  return commandWords(text).some((words) =>
    words.some((word, index) => {
      const name = word.slice(word.lastIndexOf('/') + 1);
      const rest = words.slice(index + 1);
      if (EVALUATES.has(name)) return rest.some((other) => other.includes(mark));
      if (SHELLS.test(name)) return codeAfter(rest, SHELL_CODE)?.includes(mark);
      return INTERPRETERS.test(name) && codeAfter(rest, INTERPRETER_CODE)?.includes(mark);
    }),
  );
}

/** The word behind the first option that brings code. */
function codeAfter(words: readonly string[], option: RegExp): string | undefined {
  for (const [index, word] of words.entries()) {
    if (option.test(word)) return words[index + 1];
    const [name = '', ...value] = word.split('=');
    if (value.length > 0 && option.test(name)) return value.join('=');
  }
  return undefined;
}

const MAX_SOURCE = 64 * 1024;
const MAX_DEPTH = 3;

/**
 * The words of every simple command in a shell text, as the shell would hand them over where they are literal: the
 * command's name first, then its arguments, the files it reads by redirection and the values it is given. Targets it
 * writes to are left out. A word that is a text with spaces is read as shell too (`bash -c '…'`). Never throws.
 */
export function commandWords(source: string, depth = 0): string[][] {
  if (source.length > MAX_SOURCE || depth > MAX_DEPTH) return [];
  const found: string[][] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = wordsOf(node);
      if (words.length > 0) found.push(words);
      for (const word of words) if (/\s/.test(word)) found.push(...commandWords(word, depth + 1));
    }
    forEachChild(node, visit);
  };
  try {
    visit(parse(source));
  } catch {
    // The parser resolves nested parts on access and can run out of stack there: what was found until then stands.
  }
  return found;
}

function wordsOf(command: Extract<SyntaxNode, { type: 'Command' }>): string[] {
  const words = command.name === undefined ? [] : [command.name.value];
  for (const part of [...command.suffix, ...command.prefix]) {
    if (part.type === 'Word') words.push(part.value);
    else if (part.type === 'Assignment' && part.value.type === 'Word') words.push(part.value.value);
    else if (part.type === 'Redirect' && part.operator === '<' && part.target) words.push(part.target.value);
  }
  return words;
}
