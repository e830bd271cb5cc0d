import { posix } from 'node:path';
import { firstLine } from '../../../text/quote.ts';
import { withoutEndSlashes } from '../../comparable-path.ts';
import { pathsOfGrep, pathspecTree } from '../file-access/git.ts';
import { listedBySearch } from '../file-access/record-file-access.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Call, Outcome, ShellContext, ShellState, Stream, ValueWord } from '../shell-state.ts';
import {
  caseKey,
  fromCwd,
  hasOddGlobs,
  inputFrom,
  inside,
  reportCall,
  SILENT,
  UNKNOWN_STREAM,
  withOddGlobs,
  withVariable,
} from '../shell-state.ts';
import { fdTree, nameGlob, searchedTree, startsOf } from '../unwrap/unwrap-find.ts';
import { asValue, byProgram, gitWords, STDIN, splitOptions } from '../words.ts';
import { contentOf, ODD, recordOpened } from './open-shell.ts';

type Builtin = (call: Call, args: readonly string[], context: ShellContext) => Outcome | undefined;

export function runBuiltin(call: Call, name: string, context: ShellContext): Outcome | undefined {
  const args = call.words.slice(1).map((word) => word.template);
  const outcome = builtinOf(name)?.(call, args, context);
  if (outcome !== undefined) recordOpened(call, name, context);
  return outcome;
}

const builtinOf = byProgram<Builtin>(() => ({
  __proto__: null as never,
  'cd chdir pushd popd': changeDirectory,
  eval: (call, args, context) => runText(call, args.join(' '), context),
  trap: (call, args, context) => {
    const code = args.find((arg) => !arg.startsWith('-'));
    return code === undefined || args.length < 2 ? undefined : runText(call, code, context);
  },
  'source .': runFile,
  'export declare typeset local readonly': declare,
  alias: (call, args) => {
    let functions = call.state.functions;
    for (const arg of args) {
      const equals = arg.indexOf('=');
      if (equals > 0 && !arg.includes(UNKNOWN))
        functions = new Map(functions).set(arg.slice(0, equals), { kind: 'alias', text: arg.slice(equals + 1) });
    }
    return moved({ ...call.state, functions });
  },
  shopt: (call, args) =>
    moved(
      args.some((arg) => /^-\w*s/.test(arg)) && args.some((arg) => ODD.test(arg))
        ? withOddGlobs(call.state)
        : call.state,
    ),
  setopt: (call) => moved(withOddGlobs(call.state)),
  unset: (call, args) => moved(args.reduce((state, name) => withVariable(state, name, undefined), call.state)),
  set: (call, args) => {
    const from = args.indexOf('--');
    const first = from === -1 ? args.findIndex((arg) => !/^[-+]/.test(arg)) : from + 1;
    if (first === -1) return moved(call.state);
    return moved({ ...call.state, positional: call.words.slice(first + 1).map(asValue) });
  },
  shift: (call, args) =>
    moved({ ...call.state, positional: call.state.positional?.slice(Number(args[0] ?? 1)) ?? null }),
  read: (call, args) => {
    const array = args.find((_, index) => /^-\w*a$/.test(args[index - 1] ?? ''));
    if (array !== undefined) return readArray(call, array, splitByIfs(firstLine(call.stdin.text), call));
    const names = args.filter(
      (arg, index) => /^[A-Za-z_]\w*$/.test(arg) && !/^-\w*[pdnNtui]$/.test(args[index - 1] ?? ''),
    );
    return readInto(call, names.length === 0 ? ['REPLY'] : names);
  },
  'mapfile readarray': (call: Call, args: readonly string[]) => {
    const name = args.findLast(
      (arg, index) => /^[A-Za-z_]\w*$/.test(arg) && !/^-[CcdnOsu]$/.test(args[index - 1] ?? ''),
    );
    const { text } = call.stdin;
    // Other separators between the words are not followed.
    const words = args.some((arg) => arg.startsWith('-d')) ? [UNKNOWN] : text.replace(/\n$/, '').split('\n');
    return readArray(call, name ?? 'MAPFILE', words);
  },
  printf: (call, args) => {
    if (args[0] !== '-v' || args[1] === undefined) return undefined;
    return moved(withVariable(call.state, args[1], [{ template: formatted(args.slice(2)) }]));
  },
}));

function moved(state: ShellState): Outcome {
  return { states: [state], output: SILENT };
}

function runText(call: Call, text: string, context: ShellContext): Outcome {
  if (text.includes(UNKNOWN)) reportCall(context, 'dynamic-command', call);
  const inner = inside(context, call, call.words[0]?.template ?? '');
  return context.interpret(text, [call.state], call.stdin, inner);
}

/** Runs `source FILE`, whose content is known only if this command line wrote it or a substitution produces it. */
function runFile(call: Call, args: readonly string[], context: ShellContext): Outcome | undefined {
  const word = call.words[1];
  const path = args[0];
  if (word === undefined || path === undefined) return undefined;
  const content = STDIN.test(path) && call.stdin.kind !== 'none' ? call.stdin.text : contentOf(word, call);
  if (content === undefined) return undefined;
  if (content.includes(UNKNOWN)) reportCall(context, 'dynamic-piped-to-shell', call);
  return runText(call, content, context);
}

function declare(call: Call, args: readonly string[]): Outcome {
  let state = call.state;
  const isReference = args.some((arg) => /^-[a-zA-Z]*n/.test(arg));
  const attribute = args.map((arg) => /^-[a-zA-Z]*([lucCi])/.exec(arg)?.[1] ?? '').join('');
  for (const arg of args) {
    const equals = arg.indexOf('=');
    if (attribute !== '' && /^\w/.test(arg))
      state = withVariable(state, caseKey(arg.replace(/\+?=.*$/s, '')), [{ template: attribute }]);
    if (equals > 0 && !arg.startsWith('-')) {
      const name = arg.slice(0, equals).replace(/\+$/, '');
      const text = arg.slice(equals + 1);
      // A name reference changes with the variable to which it refers.
      const value = isReference
        ? { template: UNKNOWN, ...(text.includes(UNKNOWN) ? {} : { reference: text }) }
        : { template: text };
      state = withVariable(state, name, [value]);
    }
  }
  return moved(state);
}

const MAX_LINES = 8;
const MAX_WORDS = 256;

function readInto(call: Call, names: readonly string[]): Outcome {
  const { text, under } = call.stdin;
  const lines = text.replace(/\n$/, '').split('\n');
  const unknown: ValueWord = { template: UNKNOWN, ...(under && { under }) };
  const isFollowed = under === undefined && text !== '' && lines.length <= MAX_LINES;
  const wordsOf = (line: string): readonly ValueWord[] => {
    if (names.length > 1 && line.includes(UNKNOWN)) return names.map(() => unknown);
    const words = splitByIfs(line, call);
    // The last name gets the rest of the line.
    const last = names.length === 1 ? line.trim() : words.slice(names.length - 1).join(' ');
    return [...words.slice(0, names.length - 1), last].map((template) => ({ template }));
  };
  const rows = isFollowed ? lines.map(wordsOf) : [names.map(() => unknown)];
  const assigned = (row: readonly ValueWord[]): ShellState =>
    names.reduce((state, name, index) => withVariable(state, name, [row[index] ?? { template: '' }]), call.state);
  return { states: rows.map(assigned), output: SILENT };
}

function splitByIfs(line: string, { state }: Call): string[] {
  const marks = state.variables.get('IFS')?.[0]?.template ?? ' \t\n';
  const pieces = [''];
  for (const character of line) {
    if (marks.includes(character)) pieces.push('');
    else pieces[pieces.length - 1] += character;
  }
  return pieces.filter((piece) => piece !== '');
}

/** Fills an array from known input; unknown input becomes one unknown word. */
function readArray(call: Call, name: string, words: readonly string[]): Outcome {
  const { text, under } = call.stdin;
  const isKnown = under === undefined && text !== '' && !text.includes(UNKNOWN) && words.length <= MAX_WORDS;
  const values: readonly ValueWord[] = isKnown
    ? words.map((template) => ({ template }))
    : [{ template: UNKNOWN, ...(under === undefined ? {} : { under }) }];
  return moved(withVariable(call.state, name, values));
}

/** Follows `cd`, `pushd` and `popd`; if the directory may not exist, both outcomes remain possible. */
function changeDirectory(call: Call, _args: readonly string[], context: ShellContext): Outcome {
  const { state } = call;
  const stacked = call.words[0]?.template === 'pushd';
  if (call.words[0]?.template === 'popd') {
    const [top = state.cwd, ...stack] = state.stack;
    return moved({ ...state, cwd: top, previous: state.cwd, stack });
  }
  const [word, ...others] = call.words.slice(1).filter((each) => !/^-[PLe@]+$|^--$/.test(each.template));
  const home = state.variables.get('HOME')?.[0]?.template ?? context.options.home;
  const target = word?.glob === true ? word.template.replace(/\[[^\]]*\]|[*?]/g, UNKNOWN) : (word?.template ?? home);
  const below = /^(?:\/|\0.)/s.test(target) ? target : `${withoutEndSlashes(state.cwd)}/${target}`;
  const cwd = target === '-' ? state.previous : below;
  const search = state.variables.get('CDPATH')?.[0]?.template;
  if (search !== undefined && /^(?!\.{0,2}\/|~|-$|\.\.?$)./s.test(target)) {
    const bases = search.split(':').map((base) => (base.startsWith('/') ? base : `${state.cwd}/${base}`));
    const cwds = [...bases.map((base) => `${base}/${target}`), below].map((each) => posix.normalize(each));
    return { states: cwds.map((each) => ({ ...state, cwd: each, previous: state.cwd })), output: SILENT };
  }
  const there = { ...state, cwd, previous: state.cwd, stack: stacked ? [state.cwd, ...state.stack] : state.stack };
  // An unknown part may lead anywhere: `/home/me`, `../..`.
  if (cwd.includes(UNKNOWN)) return { states: [there, { ...there, cwd: UNKNOWN }], failed: [state], output: SILENT };
  const isGone = context.facts.writes.some(({ how, recursive, word: gone, cwdTemplate }) => {
    const path = withoutEndSlashes(posix.normalize(fromCwd(gone.template, { cwd: cwdTemplate })));
    const isOpen = gone.text === null || gone.pattern !== undefined;
    return recursive && /^(?:delete|move)$/.test(how) && (isOpen || `${posix.normalize(cwd)}/`.startsWith(`${path}/`));
  });
  const isThere = others.length === 0 && !isGone && context.options.directoryExists?.(cwd) !== false;
  return { states: [there], failed: isThere ? [] : [state], output: SILENT };
}

const SILENT_COMMANDS = new Set('true false : test [ mkdir rm touch cp mv ln chmod sleep kill wait'.split(' '));

interface OutputCall {
  readonly call: Call;
  readonly name: string;
  readonly args: Call['words'];
  /** The arguments as written, with `UNKNOWN` for parts that cannot be read statically. */
  readonly texts: readonly string[];
}

type Output = (call: OutputCall) => Stream;

const isOption = (text: string): boolean => text.startsWith('-');
const literal = (text: string): Stream => ({ kind: 'literal', text });

const echo: Output = ({ args, texts }) => {
  const from = texts.findIndex((text) => !/^-[neE]+$/.test(text));
  const escapes = texts.slice(0, Math.max(0, from)).some((text) => text.includes('e'));
  const text = from === -1 ? '' : texts.slice(from).join(' ');
  return withTree(literal(`${escapes ? withEscapes(text) : text}\n`), args);
};

/** Output of `cat` and of programs that print their input. */
const input: Output = ({ call, name, args, texts }) => {
  if (name !== 'cat' || texts.every(isOption)) return call.stdin.kind === 'none' ? UNKNOWN_STREAM : call.stdin;
  const given = args.map((word) => inputFrom(word, call.state));
  const list = given.find(({ under }) => under !== undefined)?.under;
  if (list !== undefined) return { ...UNKNOWN_STREAM, under: list };
  const isKnown = given.every(({ kind }) => kind === 'literal');
  return isKnown ? literal(given.map(({ text }) => text).join('')) : UNKNOWN_STREAM;
};

const base64: Output = ({ call: { stdin }, texts }) => {
  const decodes = texts.some((text) => /^(-d|-D|--decode)$/.test(text));
  const isKnown = /^(?:literal|pipe)$/.test(stdin.kind) && !stdin.text.includes(UNKNOWN);
  if (!decodes || !isKnown) return UNKNOWN_STREAM;
  return literal(Buffer.from(stdin.text, 'base64').toString().replaceAll('\0', ''));
};

/** Output of `basename` and `dirname`. */
const partOfPath: Output = ({ name, texts }) => {
  const [path = UNKNOWN, suffix = ''] = texts.filter((text) => !isOption(text));
  const cut = path.replace(/\/+$/, '');
  const slash = cut.lastIndexOf('/');
  if (name === 'dirname') return literal(slash === -1 ? '.' : cut.slice(0, slash) || '/');
  const base = slash === -1 ? cut : cut.slice(slash + 1);
  return literal(base.endsWith(suffix) && base !== suffix ? base.slice(0, base.length - suffix.length) : base);
};

const firstPath: Output = ({ name, texts }) => {
  const path = texts.find((text) => !isOption(text));
  return path === undefined || (name === 'type' && !texts.includes('-p')) ? UNKNOWN_STREAM : literal(path);
};

const ls: Output = ({ call: { state }, args, texts }) => {
  const files = args.filter((word) => !isOption(word.template));
  const has = (letter: RegExp): boolean => texts.some((text) => isOption(text) && letter.test(text));
  if (files.length === 0) {
    const here = { roots: [state.cwd], names: [], maxDepth: 1 };
    return { ...UNKNOWN_STREAM, under: has(/[aA]/) ? here : { ...here, visible: true } };
  }
  const paths = files.map(({ template }) => fromCwd(template, state).replace(/\/+$/, ''));
  if (files.some((word) => word.glob === true)) {
    // With unusual shell settings, a glob means anything below its plain beginning.
    const below = paths.map((path) => path.replace(/\/[^/]*[*?[(].*$/s, '') || '/');
    const under = hasOddGlobs(state) ? { roots: below } : { ...startsOf(files, state.cwd), maxDepth: 1 };
    return { ...UNKNOWN_STREAM, under: { ...under, names: [] } };
  }
  if (has(/l/)) return { ...UNKNOWN_STREAM, under: { roots: paths, names: [] } };
  return literal(`${files.map((word) => word.template).join('\n')}\n${UNKNOWN}`);
};

const tree: Output = ({ call: { state }, texts }) => {
  const places = texts.filter((text) => !isOption(text));
  const roots = (places.length === 0 ? ['.'] : places).map((path) => fromCwd(path, state));
  return { ...UNKNOWN_STREAM, under: { roots, names: [] } };
};

const git: Output = ({ call: { words, state } }) => {
  const { words: all, directory } = gitWords(words);
  const [verb, ...rest] = all;
  const isOneOf = (pattern: RegExp): boolean => rest.some(({ template }) => pattern.test(template));
  const isGrep = verb?.template === 'grep';
  if (verb?.template !== 'ls-files' && !(isGrep && isOneOf(/^(-[a-zA-Z]*l|--name-only)/))) return UNKNOWN_STREAM;
  const paths = isGrep ? pathsOfGrep(rest, state) : splitOptions(rest, LS_FILES).operands;
  const under = pathspecTree(words, directory === undefined ? paths : [], state);
  if (!isOneOf(/^(-[a-z]*o[a-z]*|--others)$/)) return { ...UNKNOWN_STREAM, under: { ...under, tracked: true } };
  if (isGrep || isOneOf(/^(-[a-z]*[cdims][a-z]*|--cached|--deleted|--directory|--ignored|--modified|--stage)$/))
    return { ...UNKNOWN_STREAM, under };
  const others = { ...under, tracked: false };
  return { ...UNKNOWN_STREAM, under: isOneOf(/^--exclude-standard$/) ? { ...others, ignores: true } : others };
};

const LS_FILES = '-x -X --exclude --exclude-from --exclude-per-directory --with-tree --format';

/** Subcommands that print settings for a shell: `eval "$(pyenv init -)"`. They set variables and functions, and run nothing. */
const SETS_UP = /^(?:init|env|activate|export|hook|shellenv|shell\W\w+|-[sc]|)$/;

const OUTPUTS = byProgram<Output>(() => ({
  echo,
  printf: ({ args, texts }) => withTree(literal(formatted(texts)), args),
  pwd: ({ call }) => literal(`${call.state.cwd}\n`),
  'cat tee sponge': input,
  base64,
  'basename dirname': partOfPath,
  'which realpath readlink command type': firstPath,
  ls,
  'tree du': tree,
  'find gfind': ({ call }) => ({ ...UNKNOWN_STREAM, under: searchedTree(call.words, call.state) }),
  'fd fdfind': ({ call, args }) => ({ ...UNKNOWN_STREAM, under: fdTree(call, args) }),
  git,
  'pyenv rbenv nodenv goenv fnm mise direnv ssh-agent brew opam conda mamba micromamba': ({ texts: [first = ''] }) =>
    SETS_UP.test(first) ? SILENT : UNKNOWN_STREAM,
}));

/** Returns a command's output if it depends only on its words and its input. */
export function literalOutput(call: Call, name: string): Stream {
  const args = call.words.slice(1);
  const texts = args.map((word) => word.template);
  const listed = listedBySearch(call, name);
  if (listed !== undefined && call.stdin.under === undefined) return listed;
  const output = OUTPUTS(name);
  if (output !== undefined) return output({ call, name, args, texts });
  if (SILENT_COMMANDS.has(name)) return SILENT;
  // Whatever receives a list of found files may print found files.
  const list = call.stdin.under ?? args.find((word) => word.contentUnder !== undefined)?.contentUnder;
  if (list === undefined) return UNKNOWN_STREAM;
  // `find . | grep hook` keeps only found files of that name.
  const isFilter = /^(?:e?grep|rg)$/.test(name) && args.length === 1 && list.names.length === 0;
  const glob = isFilter ? nameGlob(args[0], false) : '*';
  return { ...UNKNOWN_STREAM, under: glob === '*' ? list : { ...list, names: [glob] } };
}

function withTree(stream: Stream, args: Call['words']): Stream {
  const under = args.find((word) => word.under !== undefined)?.under;
  return under === undefined ? stream : { ...stream, under };
}

/** Returns the text that printf prints; UNKNOWN for unsupported formats. */
function formatted(texts: readonly string[]): string {
  const words = texts[0] === '--' ? texts.slice(1) : texts;
  const [format = '', ...values] = words;
  if (format.includes(UNKNOWN)) return UNKNOWN;
  const pieces = withEscapes(format).split(/%[sbqdiuc]/);
  const kinds = withEscapes(format).match(/%[sbqdiuc]/g) ?? [];
  const holes = kinds.length;
  if (/%(?!%)/.test(pieces.join(''))) return UNKNOWN;
  let text = '';
  // printf repeats its format until all values are printed.
  const rounds = holes === 0 ? 1 : Math.max(1, Math.ceil(values.length / holes));
  for (let round = 0; round < rounds; round += 1) {
    pieces.forEach((piece, index) => {
      const value = index < holes ? (values[round * holes + index] ?? '') : '';
      text += piece.replaceAll('%%', '%') + (kinds[index] === '%b' ? withEscapes(value) : value);
    });
    if (text.length > 64 * 1024) return UNKNOWN;
  }
  return text;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };

function withEscapes(text: string): string {
  return text.replace(
    /\\(?:x([\da-fA-F]{1,2})|0?([0-7]{1,3})|u([\da-fA-F]{1,4})|([\s\S]))/g,
    (whole, hex, octal, unicode, other) => {
      const code = hex ?? unicode;
      if (code !== undefined) return visible(Number.parseInt(code, 16));
      if (octal !== undefined) return visible(Number.parseInt(octal, 8));
      return ESCAPES[other] ?? (`\\"'`.includes(other) ? other : whole);
    },
  );
}

function visible(code: number): string {
  return code === 0 ? '\n' : String.fromCharCode(code);
}
