import type { ShellWord } from './shell-reading.ts';
import { wordOf } from './word-builder.ts';

export interface Option {
  /** With its dashes: '-t', '--target-directory'. */
  readonly name: string;
  readonly value: ShellWord | undefined;
}

export interface SplitWords {
  readonly options: readonly Option[];
  readonly operands: readonly ShellWord[];
}

/**
 * Splits arguments into options and operands. `withValue` lists the options whose value is a word of its own or
 * stands behind them ("-t DIR", "-tDIR", "--target DIR", "--target=DIR").
 * With `stopAtOperand` everything from the first operand on is an operand, as for wrappers.
 */
export function splitOptions(words: readonly ShellWord[], withValue: string, stopAtOperand = false): SplitWords {
  const valued = new Set(withValue.split(' '));
  const options: Option[] = [];
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined) break;
    const text = word.template;
    if (text === '--') {
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!text.startsWith('-') || text === '-') {
      if (stopAtOperand) {
        operands.push(...words.slice(at));
        break;
      }
      operands.push(word);
      continue;
    }
    const equals = text.indexOf('=');
    if (text.startsWith('--')) {
      const name = equals === -1 ? text : text.slice(0, equals);
      if (equals !== -1) options.push({ name, value: wordOf(text.slice(equals + 1), word.source) });
      else if (valued.has(name)) options.push({ name, value: words[++at] });
      else options.push({ name, value: undefined });
      continue;
    }
    // A single dash and a whole word (-chdir=x, -exec) where the table knows it.
    const whole = equals === -1 ? text : text.slice(0, equals);
    if (whole.length > 2 && valued.has(whole)) {
      options.push({ name: whole, value: equals === -1 ? words[++at] : wordOf(text.slice(equals + 1), word.source) });
      continue;
    }
    for (let letter = 1; letter < text.length; letter += 1) {
      const name = `-${text.charAt(letter)}`;
      if (!valued.has(name)) {
        options.push({ name, value: undefined });
        continue;
      }
      const attached = text.slice(letter + 1);
      options.push({ name, value: attached === '' ? words[++at] : wordOf(attached, word.source) });
      break;
    }
  }
  return { options, operands };
}

export function hasOption(split: SplitWords, ...names: readonly string[]): boolean {
  return split.options.some((option) => names.includes(option.name));
}

export function optionValue(split: SplitWords, ...names: readonly string[]): ShellWord | undefined {
  return split.options.findLast((option) => names.includes(option.name) && option.value !== undefined)?.value;
}
