import { propertyClass, type Range, rangesOf, shownRanges, shownSet } from './re2-classes.ts';

/** A pattern for `new RegExp(source, flags)`. */
export interface NativePattern {
  readonly source: string;
  /** `u`, or `iu` for a pattern that begins with `(?i)`. Never `m` or `s`: what they mean stands in the source. */
  readonly flags: 'u' | 'iu';
}

interface Reading {
  readonly text: string;
  at: number;
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
}

/** What means more than itself. */
const SYNTAX = '^$\\.*+?()[]{}|/';
const CONTROLS: Readonly<Record<string, number>> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 };
const OCTAL = /0[0-7]{0,2}|[1-7][0-7]{1,2}/y;
const HEX = /x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/y;
const REPEAT = /\{\d+(?:,\d*)?\}/y;
const GROUP = /\(\?(?::|P?<\w+>)/y;
const POSIX = /\[:(\^?)(\w+):\]/y;

/**
 * A pattern in RE2 syntax as one of JavaScript that finds the same texts, for a program that has no RE2. Flags count at
 * the beginning: `(?i)`, `(?s)`, `(?m)`. No group captures. To match whole texts, put `^(?:` and `)$` around the source.
 * The pattern must be one that RE2 accepts; of those it throws a SyntaxError for what JavaScript cannot say (flags
 * further on, `[\PL]` under `(?i)`). One difference stays: under `(?i)`, JavaScript's `\b` takes
 * U+017F and U+212A for letters of a word.
 */
export function toNativePattern(pattern: string): NativePattern {
  const [head] = /^(?:\(\?[ims]+\))*/.exec(pattern) ?? [''];
  const ignoreCase = head.includes('i');
  const reading: Reading = {
    text: pattern,
    at: head.length,
    ignoreCase,
    multiLine: head.includes('m'),
    dotAll: head.includes('s'),
  };
  let source = '';
  while (reading.at < pattern.length) source += atom(reading);
  return { source, flags: ignoreCase ? 'iu' : 'u' };
}

function atom(reading: Reading): string {
  const { text, at, multiLine, dotAll } = reading;
  const char = text[at] ?? '';
  switch (char) {
    case '\\':
      return escaped(reading);
    case '[':
      return classOf(reading);
    case '(':
      return group(reading);
    case '{':
      return taken(reading, REPEAT)?.[0] ?? literal(reading);
    case '*':
    case '+':
    case '?':
    case '|':
    case ')':
      return step(reading, char);
    // In groups of their own, since RE2 lets them be repeated. JavaScript's own `.` and `m` know four ends of a line.
    case '.':
      return step(reading, dotAll ? '[^]' : '[^\\n]');
    case '^':
      return step(reading, multiLine ? '(?:(?<![^\\n]))' : '(?:^)');
    case '$':
      return step(reading, multiLine ? '(?:(?![^\\n]))' : '(?:$)');
    default:
      return literal(reading);
  }
}

function group(reading: Reading): string {
  if (taken(reading, GROUP) !== null) return '(?:';
  if (!reading.text.startsWith('(?', reading.at)) return step(reading, '(?:');
  throw new SyntaxError('flags count only at the beginning of a pattern: (?i), (?s), (?m)');
}

function escaped(reading: Reading): string {
  const { text, at } = reading;
  const next = text[at + 1] ?? '';
  if (next === 'Q') return quotation(reading);
  if (next === 'b' || next === 'B') return step(reading, `(?:\\${next})`, 2);
  if (next === 'A' || next === 'z') return step(reading, next === 'A' ? '(?:^)' : '(?:$)', 2);
  const property = propertyClass(text, at);
  if (property !== null) {
    return step(reading, `[${property.negated ? '^' : ''}${property.inner}]`, property.length);
  }
  const set = rangesOf(next, reading.ignoreCase);
  if (set !== null) return step(reading, `[${shownRanges(set)}]`, 2);
  return shownLiteral(escapedCharacter(reading));
}

function quotation(reading: Reading): string {
  const end = reading.text.indexOf('\\E', reading.at + 2);
  const quoted = reading.text.slice(reading.at + 2, end === -1 ? undefined : end);
  reading.at = end === -1 ? reading.text.length : end + 2;
  return Array.from(quoted, (char) => shownLiteral(char.codePointAt(0) ?? 0)).join('');
}

/** The character that a backslash and what follows stand for. */
function escapedCharacter(reading: Reading): number {
  reading.at += 1;
  const octal = taken(reading, OCTAL);
  if (octal !== null) return Number.parseInt(octal[0], 8);
  const hex = taken(reading, HEX);
  if (hex !== null) return Number.parseInt(hex[1] ?? hex[2] ?? '', 16);
  const code = reading.text.codePointAt(reading.at);
  if (code === undefined) throw new SyntaxError('a backslash stands at the end');
  const char = String.fromCodePoint(code);
  reading.at += char.length;
  return CONTROLS[char] ?? code;
}

function classOf(reading: Reading): string {
  reading.at += 1;
  const negated = reading.text[reading.at] === '^';
  if (negated) reading.at += 1;
  let inner = '';
  // A bracket that comes first is a character like others.
  for (let first = true; first || reading.text[reading.at] !== ']'; first = false) {
    if (reading.at >= reading.text.length) throw new SyntaxError('a class in brackets is never closed');
    inner += member(reading);
  }
  reading.at += 1;
  return `[${negated ? '^' : ''}${inner}]`;
}

function member(reading: Reading): string {
  const { text, at, ignoreCase } = reading;
  const posix = taken(reading, POSIX);
  if (posix !== null) return shownSet(posix[2] ?? '', posix[1] === '^', ignoreCase);
  const property = propertyClass(text, at);
  if (property?.negated) return step(reading, negatedMember(property.inner, ignoreCase), property.length);
  if (property !== null) return step(reading, property.inner, property.length);
  const set = text[at] === '\\' ? rangesOf(text[at + 1] ?? '', ignoreCase) : null;
  if (set !== null) return step(reading, shownRanges(set), 2);
  const low = character(reading);
  if (text[reading.at] !== '-' || text[reading.at + 1] === ']') return shownRanges([[low, low]]);
  reading.at += 1;
  const range: Range = [low, character(reading)];
  return shownRanges([range]);
}

/** JavaScript ignores case after it negates, RE2 before. */
function negatedMember(inner: string, ignoreCase: boolean): string {
  if (!ignoreCase && inner.lastIndexOf('\\p') === 0) return inner.replace('p', 'P');
  throw new SyntaxError('a negated Unicode class such as \\PL cannot stand within brackets under (?i), nor can \\PC');
}

function character(reading: Reading): number {
  if (reading.text[reading.at] === '\\') return escapedCharacter(reading);
  const code = reading.text.codePointAt(reading.at);
  if (code === undefined) throw new SyntaxError('a class in brackets is never closed');
  reading.at += String.fromCodePoint(code).length;
  return code;
}

function literal(reading: Reading): string {
  const code = reading.text.codePointAt(reading.at) ?? 0;
  return step(reading, shownLiteral(code), String.fromCodePoint(code).length);
}

function shownLiteral(code: number): string {
  const char = String.fromCodePoint(code);
  if (SYNTAX.includes(char)) return `\\${char}`;
  const isUnseen = code < 0x20 || code === 0x2028 || code === 0x2029 || (code >= 0xd800 && code <= 0xdfff);
  return isUnseen ? `\\u{${code.toString(16)}}` : char;
}

function step(reading: Reading, source: string, length = 1): string {
  reading.at += length;
  return source;
}

function taken(reading: Reading, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reading.at;
  const match = pattern.exec(reading.text);
  if (match !== null) reading.at += match[0].length;
  return match;
}
