import type { ParameterExpansionPart, SyntaxNode, Word, WordPart } from 'unbash';
import { forEachChild, parse } from 'unbash';
import type { ShellWord } from '../shell-reading.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Stream, ValueWord, Walk, World } from '../shell-state.ts';
import { NO_INPUT, spend, UNKNOWN_STREAM } from '../shell-state.ts';
import { WordBuilder, wordOf } from '../words.ts';
import { expandBraces } from './expand-braces.ts';
import { expandParameter } from './expand-parameter.ts';

/**
 * The words that one word becomes: braces, tilde, variables, substitutions, splitting.
 * Substitutions are read as commands of their own on the way.
 */
export function expandWord(word: Word, world: World, walk: Walk): ShellWord[] {
  if (!spend(walk, word.pos)) return [wordOf(UNKNOWN, word.text)];
  const parts = word.parts;
  if (parts === undefined) return [wordOf(withTilde(word.text, word.value, world, walk), word.text)];
  if (parts.some((part) => part.type === 'BraceExpansion')) return expandBraced(word, world, walk);
  const builder = new WordBuilder(word.text);
  addParts(parts, false, builder, world, walk);
  return builder.finish();
}

/** The word as one text, where the shell does not split (assignments, here-strings, redirections). */
export function expandToValue(word: Word, world: World, walk: Walk): ValueWord {
  const parts = word.parts;
  if (parts === undefined) return { template: withTilde(word.text, word.value, world, walk) };
  const builder = new WordBuilder(word.text);
  addParts(parts, true, builder, world, walk);
  const words = builder.finish();
  const template = words.map((each) => each.template).join(' ');
  const under = words.find((each) => each.under !== undefined)?.under;
  return under === undefined ? { template } : { template, under };
}

/** The text of parts that are not split, such as the body of a heredoc. */
export function expandToText(parts: readonly WordPart[], world: World, walk: Walk): string {
  const builder = new WordBuilder('');
  addParts(parts, true, builder, world, walk);
  return builder
    .finish()
    .map((word) => word.template)
    .join(' ');
}

/** Reads the substitutions that stand anywhere below a node (arithmetic, tests, patterns). */
export function readSubstitutions(node: SyntaxNode, world: World, walk: Walk): void {
  if (!spend(walk, node.pos)) return;
  if (
    node.type === 'CommandExpansion' ||
    node.type === 'ProcessSubstitution' ||
    node.type === 'ArithmeticCommandExpansion'
  )
    substitute(node.script, world, node.type === 'ProcessSubstitution' ? inputOf(node.operator) : NO_INPUT, walk);
  else forEachChild(node, (child) => readSubstitutions(child, world, walk));
}

function expandBraced(word: Word, world: World, walk: Walk): ShellWord[] {
  const texts = expandBraces(word.text);
  if (texts === null) return [wordOf(UNKNOWN, word.text)];
  return texts.flatMap((text) => {
    const command = parse(`: ${text}`).commands[0]?.command;
    const inner = command?.type === 'Command' ? command.suffix[0] : undefined;
    if (inner?.type !== 'Word') return [wordOf(text, word.text)];
    const parts = inner.parts;
    if (parts === undefined) return [wordOf(withTilde(inner.text, inner.value, world, walk), word.text)];
    const builder = new WordBuilder(word.text);
    addParts(parts, false, builder, world, { ...walk, source: `: ${text}`, position: walk.position ?? word.pos });
    return builder.finish();
  });
}

function addParts(parts: readonly WordPart[], quoted: boolean, builder: WordBuilder, world: World, walk: Walk): void {
  parts.forEach((part, index) => {
    switch (part.type) {
      case 'Literal':
        builder.literal(index === 0 && !quoted ? withTilde(part.text, part.value, world, walk) : part.value);
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
        // "$@" without parameters is no word at all, "" is an empty one.
        if (part.parts.length === 0 || part.parts.some((child) => child.text !== '$@')) builder.literal('');
        addParts(part.parts, true, builder, world, walk);
        return;
      case 'Glob':
      case 'ExtendedGlob':
        if (quoted) builder.literal(part.text);
        else builder.globbed(part.text);
        if (part.parts !== undefined) for (const inner of part.parts) readSubstitutions(inner, world, walk);
        return;
      case 'SimpleExpansion':
      case 'ParameterExpansion': {
        if (part.type === 'ParameterExpansion') readPattern(part, world, walk);
        const values = expandParameter(part, world, walk, (word) => expandToValue(word, world, walk).template);
        builder.values(
          quoted ? (/[*]\]?\}?$/.test(part.text) ? joined(values) : values) : separated(values, world),
          quoted,
        );
        return;
      }
      case 'CommandExpansion': {
        const output = substitute(part.script, world, NO_INPUT, walk);
        addOutput(output, quoted, builder);
        return;
      }
      case 'ProcessSubstitution':
        builder.readable(substitute(part.script, world, inputOf(part.operator), walk).text);
        return;
      case 'ArithmeticExpansion':
        if (part.expression !== undefined) readSubstitutions(part.expression, world, walk);
        builder.unknown();
        return;
      default:
        part satisfies never;
    }
  });
}

function addOutput(output: Stream, quoted: boolean, builder: WordBuilder): void {
  const template = output.text.replace(/\n+$/, '');
  builder.values([output.under === undefined ? { template } : { template, under: output.under }], quoted);
}

/** unbash 6.0.4 ends the pattern of a replacement at a slash inside a substitution: `${x/$(rm a/b)/y}`. Its text is read anew. */
function readPattern(part: ParameterExpansionPart, world: World, walk: Walk): void {
  if (part.operation?.type !== 'Replace' || !/\$\(|`/.test(part.text)) return;
  const text = `: "${part.text.slice(2, -1)}"`;
  readSubstitutions(parse(text), world, { ...walk, source: text, position: walk.position ?? part.pos });
}

/** `>(…)` reads what the command writes to it, and that nobody knows. */
function inputOf(operator: string): Stream {
  return operator === '>' ? UNKNOWN_STREAM : NO_INPUT;
}

type ScriptOf = Parameters<Walk['script']>[0];

function substitute(script: ScriptOf | undefined, world: World, stdin: Stream, walk: Walk): Stream {
  if (script === undefined) return { kind: 'pipe', text: UNKNOWN };
  return walk.script(script, [world], stdin, walk).output;
}

function joined(values: readonly ValueWord[]): ValueWord[] {
  return [{ template: values.map((value) => value.template).join(' ') }];
}

/** Values as the shell splits them where IFS was set to other characters than white space. */
function separated(values: readonly ValueWord[], world: World): readonly ValueWord[] {
  const marks = world.variables.get('IFS')?.[0]?.template.replace(/[\s\0]/g, '') ?? '';
  if (marks === '') return values;
  return values.flatMap((value) => {
    if (value.pattern !== undefined || value.under !== undefined) return [value];
    let pieces = [value.template];
    for (const mark of marks) pieces = pieces.flatMap((piece) => piece.split(mark));
    return pieces.map((template) => ({ template }));
  });
}

function withTilde(raw: string, value: string, world: World, walk: Walk): string {
  if (!raw.startsWith('~')) return value;
  const slash = value.indexOf('/');
  const prefix = slash === -1 ? value : value.slice(0, slash);
  const rest = slash === -1 ? '' : value.slice(slash);
  if (prefix === '~') return (world.variables.get('HOME')?.[0]?.template ?? walk.options.home) + rest;
  if (prefix === '~+') return world.cwd + rest;
  if (prefix === '~-') return world.previous + rest;
  return UNKNOWN + rest;
}
