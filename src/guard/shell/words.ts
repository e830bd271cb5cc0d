import { escapeGlob } from './glob.ts';
import { type SearchedTree, type ShellWord, UNKNOWN } from './shell-reading.ts';
import { literalOrNull, type ValueWord } from './shell-state.ts';

/** Assembles words piece by piece, and splits them like the shell. */
export class WordBuilder {
  private readonly words: ShellWord[] = [];
  private readonly source: string;
  private template = '';
  private pattern = '';
  private open = false;
  private glob = false;
  private more: Pick<ShellWord, 'under' | 'content' | 'contentUnder'> = {};

  constructor(source: string) {
    this.source = source;
  }

  literal(text: string): void {
    this.add(text, escapeGlob(text));
  }

  globbed(text: string, pattern = text): void {
    this.add(text, pattern);
    this.glob = true;
  }

  unknown(): void {
    this.add(UNKNOWN, UNKNOWN);
  }

  readable(content: string, under?: SearchedTree): void {
    this.unknown();
    this.more = { ...this.more, content, ...(under && { contentUnder: under }) };
  }

  /** Adds the values of a variable or of a substitution; several become several words. */
  values(values: readonly ValueWord[], quoted: boolean): void {
    values.forEach((value, index) => {
      if (index > 0) this.finishWord();
      if (quoted) this.quotedValue(value);
      else this.splitValue(value);
    });
  }

  finish(): ShellWord[] {
    this.finishWord();
    return this.words;
  }

  private add(template: string, pattern: string): void {
    this.template += template;
    this.pattern += pattern;
    this.open = true;
  }

  private quotedValue(value: ValueWord): void {
    this.find(value);
    if (value.pattern === undefined) this.literal(value.template);
    else this.globbed(value.template, value.pattern);
  }

  private splitValue(value: ValueWord): void {
    if (value.pattern !== undefined || value.template === UNKNOWN) {
      this.quotedValue(value);
      return;
    }
    value.template.split(/[ \t\n]+/).forEach((piece, index) => {
      if (index > 0) this.finishWord();
      if (piece === '') return;
      if (piece.includes('*') || piece.includes('?') || piece.includes('[')) this.globbed(piece);
      else this.literal(piece);
      this.find(value);
    });
  }

  private find({ under }: ValueWord): void {
    if (under !== undefined) this.more = { under, ...this.more };
  }

  private finishWord(): void {
    if (!this.open) return;
    const { template, source, pattern } = this;
    const glob = this.glob ? { glob: true as const, pattern } : {};
    this.words.push({ text: literalOrNull(template), template, source, ...glob, ...this.more });
    this.template = '';
    this.pattern = '';
    this.open = false;
    this.glob = false;
    this.more = {};
  }
}

export function wordOf(template: string, source = template): ShellWord {
  return { text: literalOrNull(template), template, source };
}

export function asValue({ template, pattern, under }: ShellWord): ValueWord {
  return { template, ...(pattern === undefined ? {} : { pattern }), ...(under === undefined ? {} : { under }) };
}

export interface Option {
  readonly name: string;
  readonly value: ShellWord | undefined;
}

export interface SplitWords {
  readonly options: readonly Option[];
  readonly operands: readonly ShellWord[];
}

/**
 * Splits arguments into options and operands. `withValue` lists the options whose value is the next word or attached ("-t
 * DIR", "-tDIR", "--target DIR", "--target=DIR"). With `stopAtOperand` everything from the first operand on is an operand, as
 * for wrappers.
 */
export function splitOptions(words: readonly ShellWord[], withValue: string, stopAtOperand = false): SplitWords {
  const valued = new Set(withValue.split(' '));
  const options: Option[] = [];
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined) break;
    const text = word.template;
    const isOperand = !text.startsWith('-') || text === '-';
    if (text === '--' || (isOperand && stopAtOperand)) {
      operands.push(...words.slice(isOperand ? at : at + 1));
      break;
    }
    if (isOperand) {
      operands.push(word);
      continue;
    }
    const equals = text.indexOf('=');
    const whole = equals === -1 ? text : text.slice(0, equals);
    // A single dash and a whole word (-chdir=x, -exec) if the table contains it.
    if (text.startsWith('--') || (whole.length > 2 && valued.has(whole))) {
      const given = equals === -1 ? undefined : wordOf(text.slice(equals + 1), word.source);
      options.push({ name: whole, value: given ?? (valued.has(whole) ? words[++at] : undefined) });
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

export function optionValues({ options }: SplitWords, ...names: readonly string[]): ShellWord[] {
  return options.flatMap(({ name, value }) => (names.includes(name) ? (value ?? []) : []));
}

export function optionValue(split: SplitWords, ...names: readonly string[]): ShellWord | undefined {
  return optionValues(split, ...names).at(-1);
}

/** Returns the globs of paths for names that a search leaves out, wherever they are, and for all below them. */
export function everywhere(names: readonly string[]): string[] {
  return names.flatMap((name) => [`*/${name}`, `*/${name}/*`]);
}

/** Returns the lookup in tables of programs, which are made at the first one. Names separated by spaces share an entry. */
export function byProgram<T>(...made: readonly (() => Readonly<Record<string, T>>)[]): (name: string) => T | undefined {
  const known = new Map<string, T | undefined>();
  let tables: readonly Readonly<Record<string, T>>[] | undefined;
  const find = (name: string): T | undefined => {
    tables ??= made.map((make) => make());
    for (const table of tables) {
      const names = Object.keys(table).find((each) => each.includes(name) && ` ${each} `.includes(` ${name} `));
      if (names !== undefined) return table[names];
    }
    return undefined;
  };
  return (name) => {
    // An object with all names would cost each process more than the few lookups that it makes.
    if (!known.has(name)) known.set(name, name === '' || name.includes(' ') ? undefined : find(name));
    return known.get(name);
  };
}
