import { programName, subcommandWords } from '../shell/program-words.ts';
import type { ShellCommand, ShellReading, ShellWord } from '../shell/shell-reading.ts';
import { hasOption, splitOptions } from '../shell/words.ts';

/** Pairs of commands of one pipeline that are shown to the patterns one by one. */
const MAX_PAIRS = 400;

/** Returns a simple command as its words, without quotes and escapes: the text that an allowlist is matched with. */
export function plainText(command: ShellCommand): string {
  return joined(command.argv);
}

/** Texts of a simple command for patterns: `/usr/bin/git -C x push` is `git -C x push` and `git push` too. */
export function commandTexts(command: ShellCommand): string[] {
  const [, ...args] = command.argv;
  const name = programName(command);
  if (command.name === '') return [plainText(command)];
  const texts = [plainText(command), named(command)];
  const words = subcommandWords(command);
  if (words !== null) texts.push([name, joined(words)].join(' ').trim());
  const alias = definedAlias(words);
  if (alias !== null) texts.push(`git ${alias}`);
  if (name === 'rm') texts.push(`rm ${withMergedOptions(args)}`);
  return [...new Set(texts)];
}

/** Returns the texts of pipelines for patterns: each whole, and every two commands of it, the earlier one first. */
export function pipelineTexts(pipelines: ShellReading['pipelines']): string[] {
  const texts = new Set<string>();
  for (const elements of pipelines) {
    texts.add(elements.map((element) => element.map(named).join('; ')).join(' | '));
    for (const [left, right] of pairsOf(elements)) texts.add(`${named(left)} | ${named(right)}`);
  }
  return [...texts];
}

/** Each command with each that stands in a later element, the nearest element first. */
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

/** Returns the alias that `git config alias.p push` defines: evaluated here, since its later use is not visible. */
export function definedAlias(words: readonly ShellWord[] | null): string | null {
  if (words?.[0]?.template !== 'config') return null;
  const at = words.findIndex((word) => /^alias\.[^=]+$/.test(word.template));
  return at === -1 ? null : (words[at + 1]?.template ?? null);
}

/** By the program's bare name; one that is known only at run time stays so. */
function named(command: ShellCommand): string {
  if (command.name === '') return plainText(command);
  return [command.name, joined(command.argv.slice(1))].join(' ').trim();
}

/** `rm -r --force x` becomes `rm -rf x`: rm is the program whose options users block. */
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
