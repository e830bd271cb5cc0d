import type { CommandRule } from '../../engine/schema/contract.ts';
import { matchesGlob } from '../shell/glob.ts';
import { hasKnownOptions, literal, namedWords, programName, subcommandWords } from '../shell/program-words.ts';
import type { ShellCommand, ShellReading, ShellWord } from '../shell/shell-reading.ts';
import { hasOption, splitOptions } from '../shell/words.ts';

type PreciseRule = Exclude<CommandRule, string>;
type SimpleRule = Extract<PreciseRule, { command: string }>;
type PipelineRule = Extract<PreciseRule, { pipeline: string[] }>;

/** `open`: the result depends on a word that is known only at run time. */
type Match = 'yes' | 'no' | 'open';

export function matchesSimpleRule(rule: SimpleRule, command: ShellCommand, caseInsensitive: boolean): Match {
  const program = programName(command);
  if (![program, command.name].some((name) => name !== '' && isWanted(rule.command, name, caseInsensitive)))
    return 'no';
  const words = hasKnownOptions(command)
    ? namedWords(command).map((text) => ({ text, skippable: false }))
    : likelyWords(command);
  // `git subtree push` is a push as well.
  const [first, ...rest] = words;
  const inner = program === 'git' && first?.text === 'subtree' ? matchWords(rule.args, rest) : 'no';
  return inner === 'no' ? matchWords(rule.args, words) : inner;
}

/** Returns whether a pipeline runs the programs of `{pipeline}` in this order, possibly with others between them. */
export function matchesPipelineRule(
  rule: PipelineRule,
  elements: ShellReading['pipelines'][number],
  caseInsensitive: boolean,
): boolean {
  let next = 0;
  for (const element of elements) {
    const wanted = rule.pipeline[next];
    if (wanted === undefined) break;
    const names = element.map(programName).filter((name) => name !== '');
    if (names.some((name) => isWanted(wanted, name, caseInsensitive))) next += 1;
  }
  return next === rule.pipeline.length;
}

/** Returns whether a word matches `git`, `npm*` or `curl|wget`; a backslash before the bar, as in Markdown tables, is ignored. */
function isWanted(wanted: string, word: string, caseInsensitive = false): boolean {
  const names = wanted.split('|');
  return names.some((name, index) => {
    const isLast = index === names.length - 1;
    return matchesGlob(!isLast && name.endsWith('\\') ? name.slice(0, -1) : name, word, caseInsensitive);
  });
}

interface NamedWord {
  /** Null if it is known only at run time. */
  readonly text: string | null;
  /** True if it may be the value of the preceding option. */
  readonly skippable: boolean;
}

/** Returns the words of a program with unknown options: a word after an option may be its value or the next argument. */
function likelyWords({ argv }: ShellCommand): NamedWord[] {
  return argv.slice(1).flatMap((word, index) => {
    if (isOption(word.template)) return [];
    const before = index === 0 ? '' : (argv[index]?.template ?? '');
    return [{ text: literal(word), skippable: isOption(before) && !before.includes('=') }];
  });
}

/** Matches in one pass over the words; `reached` holds the numbers of wanted words that may have matched so far. */
function matchWords(wanted: readonly string[], words: readonly NamedWord[]): Match {
  let reached = new Set([0]);
  for (const { text, skippable } of words) {
    if (reached.has(wanted.length)) return 'yes';
    if (reached.size === 0) return 'no';
    if (text === null) return 'open';
    const next = new Set(skippable ? reached : []);
    for (const index of reached) if (isWanted(wanted[index] ?? '', text)) next.add(index + 1);
    reached = next;
  }
  return reached.has(wanted.length) ? 'yes' : 'no';
}

function isOption(text: string): boolean {
  return text.startsWith('-') && text !== '-';
}

const MAX_PAIRS = 400;

/** Returns the words of a simple command without quotes and escapes: the text that an allowlist is matched with. */
export function plainText(command: ShellCommand): string {
  return joined(command.argv);
}

/** Returns the texts of a simple command for patterns: `/usr/bin/git -C x push` is also `git -C x push` and `git push`. */
export function commandTexts(command: ShellCommand): string[] {
  const [, ...args] = command.argv;
  const name = programName(command);
  if (command.name === '') return [plainText(command)];
  const texts = [plainText(command), named(command)];
  const words = subcommandWords(command);
  if (words !== null) texts.push([name, joined(words)].join(' ').trim());
  if (name === 'git' && words?.[0]?.template === 'subtree') texts.push(`git ${joined(words.slice(1))}`);
  if (name === 'rm') texts.push(`rm ${withMergedOptions(args)}`);
  return [...new Set(texts)];
}

/** Returns the texts of pipelines for patterns: each as a whole, and every two of its commands, the earlier one first. */
export function pipelineTexts(pipelines: ShellReading['pipelines']): string[] {
  const texts = new Set<string>();
  for (const elements of pipelines) {
    texts.add(elements.map((element) => element.map(named).join('; ')).join(' | '));
    for (const [left, right] of pairsOf(elements)) texts.add(`${named(left)} | ${named(right)}`);
  }
  return [...texts];
}

/** Yields each command with each one of a later element, the nearest element first. */
function* pairsOf(elements: ShellReading['pipelines'][number]): Generator<readonly [ShellCommand, ShellCommand]> {
  let left = MAX_PAIRS;
  for (let distance = 1; distance < elements.length; distance += 1) {
    for (let at = 0; at + distance < elements.length; at += 1) {
      for (const first of elements[at] ?? []) {
        for (const second of elements[at + distance] ?? []) {
          yield [first, second];
          left -= 1;
          if (left === 0) return;
        }
      }
    }
  }
}

/** Returns the command with the bare name of its program; one known only at run time stays unknown. */
function named(command: ShellCommand): string {
  if (command.name === '') return plainText(command);
  return [command.name, joined(command.argv.slice(1))].join(' ').trim();
}

/** Merges options: `rm -r --force x` becomes `rm -rf x`. rm is the program whose options users block. */
function withMergedOptions(args: readonly ShellWord[]): string {
  const split = splitOptions(args, '');
  const letters = [
    hasOption(split, '-r', '-R', '--recursive') ? 'r' : '',
    hasOption(split, '-f', '--force') ? 'f' : '',
  ].join('');
  return [letters === '' ? '' : `-${letters}`, joined(split.operands)].join(' ').trim();
}

function joined(words: readonly ShellWord[]): string {
  return words.map((word) => word.template).join(' ');
}
