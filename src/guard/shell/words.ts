import { escapeGlob } from './glob.ts';
import { type SearchedTree, type ShellCommand, type ShellWord, UNKNOWN } from './shell-reading.ts';
import { fromCwd, literalOrNull, type ShellState, type ValueWord } from './shell-state.ts';

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

interface Option {
  readonly name: string;
  readonly value: ShellWord | undefined;
}

export interface SplitWords {
  readonly options: readonly Option[];
  readonly operands: readonly ShellWord[];
}

/**
 * Splits arguments into options and operands. `withValue` lists the options whose value is the next word or attached ("-t
 * DIR", "-tDIR", "--target DIR", "--target=DIR"). With `stopAtOperand`, everything from the first operand on is an operand,
 * as for wrappers.
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
    // A single dash and a whole word (-chdir=x, -exec), if the table contains it.
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

/** Returns path globs for names that a search excludes, wherever they are, and for everything below them. */
export function everywhere(names: readonly string[]): string[] {
  return names.flatMap((name) => [`*/${name}`, `*/${name}/*`]);
}

/** Returns a lookup in tables of programs, created at the first lookup. Names separated by spaces share an entry. */
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
    // An object with all the names would cost each process more than its few lookups.
    if (!known.has(name)) known.set(name, name === '' || name.includes(' ') ? undefined : find(name));
    return known.get(name);
  };
}

type Variables = ShellState['variables'];

const GIT_VALUES = '-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source';

/**
 * Skips the options of git itself: `git -C dir -c alias.x=push x` is `push` in `dir`, a template. Returns the subcommand and
 * its arguments, with an alias given by -c expanded, and the configuration of this call, by lower-case key.
 */
export function gitWords(argv: readonly ShellWord[], variables: Variables = new Map()) {
  const { options, operands } = splitOptions(argv.slice(1), GIT_VALUES, true);
  let directory: string | undefined;
  const settings = settingsInEnvironment(variables);
  for (const { name, value } of options) {
    if ((name === '-C' || name === '--work-tree') && value !== undefined)
      directory = directory === undefined ? value.template : fromCwd(value.template, { cwd: directory });
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(value?.template ?? '') ?? [];
    if (name === '-c' && key !== undefined) settings.set(key.toLowerCase(), text ?? '');
    if (name === '--config-env' && key !== undefined)
      settings.set(key.toLowerCase(), variables.get(text ?? '')?.[0]?.template ?? UNKNOWN);
  }
  const aliased = settings.get(`alias.${operands[0]?.template ?? ''}`.toLowerCase());
  if (aliased === undefined) return { words: operands, directory, aliased, settings };
  const meant = aliased.startsWith('!') ? [] : aliased.trim().split(/\s+/);
  return { words: [...meant.map((word) => wordOf(word)), ...operands.slice(1)], directory, aliased, settings };
}

/** Reads `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=… GIT_CONFIG_VALUE_0=…` from variables that the command itself sets. */
function settingsInEnvironment(variables: Variables): Map<string, string> {
  const settings = new Map<string, string>();
  const given = variables.get('GIT_CONFIG_PARAMETERS')?.[0]?.template ?? '';
  for (const [, key = '', value = ''] of given.matchAll(/'([^'=]+)'?='?([^']*)'/g))
    settings.set(key.toLowerCase(), value);
  for (const [name, values] of variables) {
    const number = /^GIT_CONFIG_KEY_(\d+)$/.exec(name)?.[1];
    if (number === undefined) continue;
    const value = variables.get(`GIT_CONFIG_VALUE_${number}`)?.[0]?.template ?? UNKNOWN;
    settings.set((values[0]?.template ?? '').toLowerCase(), value);
  }
  return settings;
}

/** Options with a value of their own, by program. */
const VALUES: Readonly<Record<string, string>> = {
  git: GIT_VALUES,
  docker:
    '-c -H -l --config --context --host --log-level --tlscacert --tlscert --tlskey -f --file -p --project-name --profile --env-file --project-directory',
  npm: '-w --workspace --prefix -C --registry --userconfig --globalconfig --loglevel --tag --otp --cache --access',
  pnpm: '-C --dir -F --filter --reporter --loglevel --workspace-concurrency --registry --tag --otp',
  yarn: '--cwd --use-yarnrc --registry --cache-folder --modules-folder --mutex',
  kubectl:
    '-n -s --namespace --server --context --cluster --user --kubeconfig --token --as --as-group --request-timeout --cache-dir --certificate-authority --client-certificate --client-key --profile --tls-server-name -v --v -l --selector -f --filename',
  gh: '-R --repo --hostname',
  cargo: '-C -Z --config --color --manifest-path --target --target-dir -p --package --features -j --jobs',
  terraform: '-chdir',
};

/** Returns the program's name; `git-push` is both a program and git's subcommand. */
export function programName(command: ShellCommand): string {
  return command.name.startsWith('git-') ? 'git' : command.name;
}

/** Returns the words from the subcommand on, without preceding options; null for a program with unknown options. */
export function subcommandWords(command: ShellCommand): readonly ShellWord[] | null {
  const { name, argv } = command;
  if (name === 'git') return gitWords(argv).words;
  const [first] = argv;
  if (name.startsWith('git-') && first !== undefined) {
    const subcommand = name.slice('git-'.length);
    return [{ ...first, text: subcommand, template: subcommand }, ...argv.slice(1)];
  }
  const values = valuesOf(name);
  return values === undefined ? null : splitOptions(argv.slice(1), values, true).operands;
}

/** Returns the words that name a command's action: push, origin for `git -C x push -f origin`. null: not literal. */
export function namedWords(command: ShellCommand): Array<string | null> {
  const words = subcommandWords(command) ?? command.argv.slice(1);
  const values = programName(command) === 'git' ? '' : (valuesOf(command.name) ?? '');
  return splitOptions(words, values).operands.map(literal);
}

export function hasKnownOptions(command: ShellCommand): boolean {
  return valuesOf(programName(command)) !== undefined;
}

/** Returns a word's text; null if it is known only at run time. */
export function literal(word: ShellWord): string | null {
  return word.glob === true ? null : word.text;
}

function valuesOf(name: string): string | undefined {
  return Object.hasOwn(VALUES, name) ? VALUES[name] : undefined;
}

export const NODE_VALUES =
  '-r -C -e -p -pe --require --import --loader --experimental-loader --env-file --eval --print --conditions --input-type --title';

export const NODE_LIKE = new Set(['node', 'nodejs', 'bun', 'deno', 'tsx', 'ts-node']);

const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'mksh', 'ash', 'fish', 'rbash']);

export function isShell(word: string): boolean {
  return SHELLS.has(basenameOf(word));
}

/** Returns the basename of a command word, without `.exe`. */
export function basenameOf(word: string): string {
  // `=git` of zsh is the path of git.
  const name = word.slice(word.startsWith('=') ? 1 : word.lastIndexOf('/') + 1);
  return name.slice(-4).toLowerCase() === '.exe' ? name.slice(0, -4) : name;
}

/** Words with a command: `rg --pre x`, `sort --compress-program=x`, `tar --checkpoint-action=exec=x`, `EXEC:x`, `+!x`. */
const RUNS =
  /^(?:rg --pre|man -P|g?make SHELL|\S+ --(?!no-)(?:[a-z]+-)*(?:program|pager|rsh|upload-pack|receive-pack))(?:=(.+)|$)|[=\s](?:(?:exec|ProxyCommand|LocalCommand|--to-command)=|(?:exec|system|shell):|\+:?!)(.+)$/is;

/** Parts, one of which is in every such word. They are searched for first, because RUNS takes long to compile. */
const RUNS_PARTS = 'prog page rsh --pre -pack exec= ommand= SHELL= -P EC: EM: LL: +! +:!'.split(' ');

/** Returns the commands that a program runs because of its options. */
export function commandsOfOptions(name: string, words: readonly ShellWord[]): string[] {
  return words.flatMap(({ template }, index) => {
    if (index === 0 || !RUNS_PARTS.some((part) => template.includes(part))) return [];
    const match = RUNS.exec(`${name} ${template}`);
    return match === null ? [] : (match[1] ?? match[2] ?? words[index + 1]?.template ?? []);
  });
}

const CODE_OPTION = /^-(c|e|ex|x)$|^--?(eval|exec|execute|command|code|run)$/;

/** Returns whether a word is a text for such an option, or has the program run the commands on its standard input. */
export function isForCodeOption(word: ShellWord, { argv }: ShellCommand): boolean {
  const before = argv[argv.indexOf(word) - 1]?.template ?? '';
  return /\s/.test(word.template) && (word.source === '<' || CODE_OPTION.test(before));
}

/** Returns whether a word makes a program take its commands from standard input: `-`, `-f-`, `-@`, `/dev/stdin`. */
export function takesInput(word: string): boolean {
  return /^(?:-\w|--[\w-]+=)?(?:-|-@|\/dev\/stdin)$/.test(word) || STDIN.test(word);
}

/** Names of standard input. */
export const STDIN = /^\/(?:dev\/(?:stdin|fd\/0)|proc\/(?:thread-)?self\/fd\/0)$/;
