import type * as Shell from '../../../text/shell/parse-shell.ts';
import { forEachChild, parseShell } from '../../../text/shell/parse-shell.ts';
import { type ShellWord, UNKNOWN } from '../shell-reading.ts';
import type { ShellContext, ShellState, Stream, ValueWord } from '../shell-state.ts';
import { NO_INPUT, spend, temporaryPath, UNKNOWN_STREAM } from '../shell-state.ts';
import { WordBuilder, wordOf } from '../words.ts';
import { expandParameter } from './expand-parameter.ts';

/** Expands a word into words: braces, tilde, variables, substitutions (interpreted on the way), splitting. */
export function expandWord(word: Shell.Word, state: ShellState, context: ShellContext): ShellWord[] {
  if (!spend(context, word.pos)) return [wordOf(UNKNOWN, word.text)];
  const { parts } = word;
  if (parts === undefined) return [wordOf(withTilde(word.text, word.value, state, context), word.text)];
  if (parts.some((part) => part.type === 'BraceExpansion')) return expandBraced(word, state, context);
  return wordsOf(word.text, parts, false, state, context);
}

function wordsOf(
  source: string,
  parts: readonly Shell.WordPart[],
  quoted: boolean,
  state: ShellState,
  context: ShellContext,
): ShellWord[] {
  const builder = new WordBuilder(source);
  addParts(parts, quoted, builder, state, context);
  return builder.finish();
}

/** Expands a word into one text, where the shell does not split (assignments, here-strings, redirections). */
export function expandToValue(word: Shell.Word, state: ShellState, context: ShellContext): ValueWord {
  const parts = word.parts;
  if (parts === undefined) return { template: withTilde(word.text, word.value, state, context) };
  const words = wordsOf(word.text, parts, true, state, context);
  const template = words.map((each) => each.template).join(' ');
  const under = words.find((each) => each.under !== undefined)?.under;
  return under === undefined ? { template } : { template, under };
}

export function expandToText(parts: readonly Shell.WordPart[], state: ShellState, context: ShellContext): string {
  const words = wordsOf('', parts, true, state, context);
  return words.map((word) => word.template).join(' ');
}

/** Interprets the substitutions anywhere below a node (arithmetic, tests, patterns). */
export function readSubstitutions(node: Shell.SyntaxNode, state: ShellState, context: ShellContext): void {
  if (!spend(context, node.pos)) return;
  if (
    node.type === 'CommandExpansion' ||
    node.type === 'ProcessSubstitution' ||
    node.type === 'ArithmeticCommandExpansion'
  )
    substitute(node, state, context);
  else forEachChild(node, (child) => readSubstitutions(child, state, context));
}

function expandBraced(word: Shell.Word, state: ShellState, context: ShellContext): ShellWord[] {
  const texts = expandBraces(word.text);
  if (texts === null) return [wordOf(UNKNOWN, word.text)];
  return texts.flatMap((text) => {
    const command = parseShell(`: ${text}`).commands[0]?.command;
    const inner = command?.type === 'Command' ? command.suffix[0] : undefined;
    if (inner?.type !== 'Word') return [wordOf(text, word.text)];
    const parts = inner.parts;
    if (parts === undefined) return [wordOf(withTilde(inner.text, inner.value, state, context), word.text)];
    const within = { ...context, source: `: ${text}`, position: context.position ?? word.pos };
    return wordsOf(word.text, parts, false, state, within);
  });
}

function addParts(
  parts: readonly Shell.WordPart[],
  quoted: boolean,
  builder: WordBuilder,
  state: ShellState,
  context: ShellContext,
): void {
  parts.forEach((part, index) => {
    switch (part.type) {
      case 'Literal':
        builder.literal(index === 0 && !quoted ? withTilde(part.text, part.value, state, context) : part.value);
        return;
      case 'SingleQuoted':
      case 'AnsiCQuoted':
        builder.literal(part.value);
        return;
      case 'BraceExpansion':
        builder.literal(part.text);
        return;
      case 'DoubleQuoted':
      case 'LocaleString':
        // "$@" without parameters expands to no word, "" to an empty one.
        if (part.parts.length === 0 || part.parts.some((child) => child.text !== '$@')) builder.literal('');
        addParts(part.parts, true, builder, state, context);
        return;
      case 'Glob':
      case 'ExtendedGlob':
        if (quoted) builder.literal(part.text);
        else builder.globbed(part.text);
        if (part.parts !== undefined) for (const inner of part.parts) readSubstitutions(inner, state, context);
        return;
      case 'SimpleExpansion':
      case 'ParameterExpansion': {
        if (part.type === 'ParameterExpansion') readPattern(part, state, context);
        const values = expandParameter(part, state, context, (word) => expandToValue(word, state, context).template);
        const isJoined = quoted && /[*]\]?\}?$/.test(part.text);
        if (isJoined) builder.literal(values.map((value) => value.template).join(' '));
        else builder.values(quoted ? values : separated(values, state), quoted);
        return;
      }
      case 'CommandExpansion': {
        const values = [valueOfCommand(part, state, context)];
        builder.values(quoted ? values : separated(values, state), quoted);
        return;
      }
      case 'ProcessSubstitution': {
        const { text, under } = substitute(part, state, context);
        builder.readable(text, under);
        return;
      }
      case 'ArithmeticExpansion':
        if (part.expression !== undefined) readSubstitutions(part.expression, state, context);
        builder.unknown();
        return;
      default:
        part satisfies never;
    }
  });
}

/** Reads a replacement separately: unbash 6.0.4 ends its pattern at a slash in a substitution (`${x/$(rm a/b)/y}`). */
function readPattern(part: Shell.ParameterExpansionPart, state: ShellState, context: ShellContext): void {
  if (part.operation?.type !== 'Replace' || !/\$\(|`/.test(part.text)) return;
  const text = `: "${part.text.slice(2, -1)}"`;
  readSubstitutions(parseShell(text), state, { ...context, source: text, position: context.position ?? part.pos });
}

type Substitution = { readonly script?: Shell.ParsedScript | undefined; readonly operator?: string };

function substitute({ script, operator }: Substitution, state: ShellState, context: ShellContext): Stream {
  if (script === undefined) return UNKNOWN_STREAM;
  // The input of `>(…)` is the command's output, which is unknown.
  const stdin = operator === '>' ? UNKNOWN_STREAM : (context.stdin ?? NO_INPUT);
  return context.interpret(script, [state], stdin, { ...context, away: true }).output;
}

/** Returns the output of a substitution without trailing line ends. */
function valueOfCommand(part: Shell.CommandExpansionPart, state: ShellState, context: ShellContext): ValueWord {
  const { text, under } = substitute(part, state, context);
  // In a function, an `eval` or another shell, or if a command may find another mktemp, the output may differ.
  const { variables, functions } = state;
  const isOdd = /PATH|TMPDIR/.test(context.source) || variables.has('PATH') || variables.has('TMPDIR');
  const isSure = context.depth === 1 && !functions.has('mktemp') && !isOdd;
  const made = isSure && MKTEMP.test(part.text) ? temporaryPath(part.pos, context) : text.replace(/\n+$/, '');
  return { template: made, ...(under && { under }) };
}

/** Pattern for a substitution that prints a new path in the folder for temporary files: `$(mktemp -d)`. */
const MKTEMP =
  /^(?:\$\(|`) *mktemp(?: +(?:-d|--suffix=\.\w+))*(?: +(?:-t +["']?\w|["']?\/tmp\/)[\w.-]*XXX["']?)? *[)`]$/;

/** Splits values as the shell does if IFS contains characters other than white space. */
function separated(values: readonly ValueWord[], state: ShellState): readonly ValueWord[] {
  const marks = state.variables.get('IFS')?.[0]?.template.replace(/[\s\0]/g, '') ?? '';
  if (marks === '') return values;
  return values.flatMap((value) => {
    if (value.pattern !== undefined || value.under !== undefined) return [value];
    let pieces = [value.template];
    for (const mark of marks) pieces = pieces.flatMap((piece) => piece.split(mark));
    return pieces.map((template) => ({ template }));
  });
}

function withTilde(raw: string, value: string, state: ShellState, context: ShellContext): string {
  if (!raw.startsWith('~')) return value;
  const slash = value.indexOf('/');
  const prefix = slash === -1 ? value : value.slice(0, slash);
  const rest = slash === -1 ? '' : value.slice(slash);
  if (prefix === '~') return (state.variables.get('HOME')?.[0]?.template ?? context.options.home) + rest;
  if (prefix === '~+') return state.cwd + rest;
  if (prefix === '~-') return state.previous + rest;
  return UNKNOWN + rest;
}

const MAX_ALTERNATIVES = 256;

/** Pieces of a word: quoted and escaped text, brace characters, and what is between them. */
const PIECES = /\$'(?:\\[\s\S]|[^\\'])*'?|'[^']*'?|"(?:\\[\s\S]|[^\\"])*"?|\\[\s\S]?|\$\{|[{},]|[^$'"\\{},]+|\$/g;

/** Expands `a{b,c}` and `{1..3}` as the shell does, as text, before anything else; null: too many. */
export function expandBraces(text: string): string[] | null {
  const pieces = text.match(PIECES) ?? [];
  const marks = marksOf(pieces);
  let budget = MAX_ALTERNATIVES;
  const expand = (from: number, to: number): string[] | null => {
    for (let start = from; start < to; start += 1) {
      const [cuts, end] = pieces[start] === '{' ? (marks.get(start) ?? []) : [];
      if (cuts === undefined || end === undefined) continue;
      const sequence = end === start + 2 ? sequenceOf(pieces[start + 1] ?? '') : null;
      if (cuts.length === 1 && sequence === null) continue;
      const rests = expand(end + 1, to);
      if (rests === null) return null;
      const head = pieces.slice(from, start).join('');
      const results: string[] = [];
      for (const [at, choice] of (sequence ?? cuts).entries()) {
        const middles = typeof choice === 'string' ? [choice] : expand(choice + 1, cuts[at + 1] ?? end);
        if (middles === null) return null;
        for (const middle of middles) for (const rest of rests) results.push(head + middle + rest);
        budget -= 1;
        if (budget < 0 || results.length > MAX_ALTERNATIVES) return null;
      }
      return results;
    }
    return [pieces.slice(from, to).join('')];
  };
  return expand(0, pieces.length);
}

/** Returns, for each closed brace, its marks (itself and its own commas) and its end. */
function marksOf(pieces: readonly string[]): Map<number, readonly [cuts: readonly number[], end: number]> {
  const marks = new Map<number, readonly [number[], number]>();
  const open: number[][] = [];
  pieces.forEach((piece, at) => {
    if (piece === '{' || piece === '${') open.push([at]);
    else if (piece === ',') open.at(-1)?.push(at);
    else if (piece === '}') {
      const cuts = open.pop();
      if (cuts?.[0] !== undefined) marks.set(cuts[0], [cuts, at]);
    }
  });
  return marks;
}

function sequenceOf(text: string): string[] | null {
  const match = /^(?:(-?\d{1,6})\.\.(-?\d{1,6})|([a-zA-Z])\.\.([a-zA-Z]))(?:\.\.(-?\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const [, from = '', to = '', letter, lastLetter = '', by = '1'] = match;
  const first = letter === undefined ? Number(from) : letter.charCodeAt(0);
  const last = letter === undefined ? Number(to) : lastLetter.charCodeAt(0);
  const step = Math.max(1, Math.abs(Number(by)));
  const length = Math.min(Math.floor(Math.abs(last - first) / step), MAX_ALTERNATIVES + 1) + 1;
  const width = /^-?0\d/.test(from) ? from.length : 0;
  return Array.from({ length }, (_, at) => {
    const value = first + (first <= last ? at * step : -at * step);
    return letter === undefined ? String(value).padStart(width, '0') : String.fromCharCode(value);
  });
}
