import { pathsOfGrep, pathspecTree } from '../file-access/git.ts';
import { listedBySearch } from '../file-access/search-files.ts';
import { gitWords } from '../program-words.ts';
import { UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, hasOddGlobs, inputFrom, SILENT, type Stream, UNKNOWN_STREAM } from '../shell-state.ts';
import { fdTree, nameGlob, searchedTree, startsOf } from '../unwrap/unwrap-find.ts';
import { byProgram, splitOptions } from '../words.ts';

const SILENT_COMMANDS = new Set('true false : test [ mkdir rm touch cp mv ln chmod sleep kill wait'.split(' '));

interface OutputCall {
  readonly call: Call;
  readonly name: string;
  readonly args: Call['words'];
  /** The arguments as they are written, with `UNKNOWN` for what cannot be read statically. */
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
    // By unusual settings a glob is whatever lies below its plain beginning.
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

/** Subcommands that print settings for a shell: `eval "$(pyenv init -)"`. These set variables and functions, and run nothing. */
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

/** Returns a command's output if its words and its input alone determine it. */
export function literalOutput(call: Call, name: string): Stream {
  const args = call.words.slice(1);
  const texts = args.map((word) => word.template);
  const listed = listedBySearch(call, name);
  if (listed !== undefined && call.stdin.under === undefined) return listed;
  const output = OUTPUTS(name);
  if (output !== undefined) return output({ call, name, args, texts });
  if (SILENT_COMMANDS.has(name)) return SILENT;
  // Whatever gets a list of found files may print found files.
  const list = call.stdin.under ?? args.find((word) => word.contentUnder !== undefined)?.contentUnder;
  if (list === undefined) return UNKNOWN_STREAM;
  // `find . | grep hook` keeps those of that name.
  const isFilter = /^(?:e?grep|rg)$/.test(name) && args.length === 1 && list.names.length === 0;
  const glob = isFilter ? nameGlob(args[0], false) : '*';
  return { ...UNKNOWN_STREAM, under: glob === '*' ? list : { ...list, names: [glob] } };
}

function withTree(stream: Stream, args: Call['words']): Stream {
  const under = args.find((word) => word.under !== undefined)?.under;
  return under === undefined ? stream : { ...stream, under };
}

/** Returns the text that printf prints; UNKNOWN for unsupported formats. */
export function formatted(texts: readonly string[]): string {
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
