import { listedBySearch } from '../file-access/search-files.ts';
import { gitWords } from '../program-words.ts';
import { UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, inputFrom, SILENT, type Stream, UNKNOWN_STREAM } from '../shell-state.ts';
import { fdTree, nameGlob, searchedTree } from '../unwrap/unwrap-find.ts';
import { byProgram } from '../words.ts';

const SILENT_COMMANDS = new Set('true false : test [ mkdir rm touch cp mv ln chmod sleep kill wait'.split(' '));

/** Programs whose output is computed like that of another one. */
const alike = byProgram({
  'tee sponge': 'cat',
  dirname: 'basename',
  'realpath readlink command type': 'which',
  du: 'tree',
  gfind: 'find',
  fdfind: 'fd',
});

/** Returns a command's output if its words and its input alone determine it. */
export function literalOutput(call: Call, name: string): Stream {
  const args = call.words.slice(1);
  const texts = args.map((word) => word.template);
  const listed = listedBySearch(call, name);
  if (listed !== undefined && call.stdin.under === undefined) return listed;
  switch (alike(name) ?? name) {
    case 'echo': {
      const from = texts.findIndex((text) => !/^-[neE]+$/.test(text));
      const escapes = texts.slice(0, Math.max(0, from)).some((text) => text.includes('e'));
      const text = from === -1 ? '' : texts.slice(from).join(' ');
      return withTree({ kind: 'literal', text: `${escapes ? withEscapes(text) : text}\n` }, args);
    }
    case 'printf':
      return withTree({ kind: 'literal', text: formatted(texts) }, args);
    case 'pwd':
      return { kind: 'literal', text: `${call.state.cwd}\n` };
    case 'cat': {
      const files = texts.filter((text) => !text.startsWith('-'));
      if (name !== 'cat' || files.length === 0) return call.stdin.kind === 'none' ? UNKNOWN_STREAM : call.stdin;
      const given = args.map((word) => inputFrom(word, call.state));
      const list = given.find(({ under }) => under !== undefined)?.under;
      if (list !== undefined) return { ...UNKNOWN_STREAM, under: list };
      const isKnown = given.every(({ kind }) => kind === 'literal');
      return isKnown ? { kind: 'literal', text: given.map(({ text }) => text).join('') } : UNKNOWN_STREAM;
    }
    case 'base64': {
      const decodes = texts.some((text) => /^(-d|-D|--decode)$/.test(text));
      const isKnown = /^(?:literal|pipe)$/.test(call.stdin.kind) && !call.stdin.text.includes(UNKNOWN);
      if (!decodes || !isKnown) return UNKNOWN_STREAM;
      return { kind: 'literal', text: Buffer.from(call.stdin.text, 'base64').toString().replaceAll('\0', '') };
    }
    case 'basename': {
      const [path = UNKNOWN, suffix = ''] = texts.filter((text) => !text.startsWith('-'));
      const cut = path.replace(/\/+$/, '');
      const slash = cut.lastIndexOf('/');
      const base = slash === -1 ? cut : cut.slice(slash + 1);
      const directory = slash === -1 ? '.' : cut.slice(0, slash) || '/';
      const bare = base.endsWith(suffix) && base !== suffix ? base.slice(0, base.length - suffix.length) : base;
      return { kind: 'literal', text: name === 'dirname' ? directory : bare };
    }
    case 'which': {
      const path = texts.find((text) => !text.startsWith('-'));
      return path === undefined || (name === 'type' && !texts.includes('-p'))
        ? UNKNOWN_STREAM
        : { kind: 'literal', text: path };
    }
    case 'ls': {
      const files = args.filter((word) => !word.template.startsWith('-'));
      const here = { roots: [call.state.cwd], names: [], maxDepth: 1 };
      const has = (letter: RegExp): boolean => texts.some((text) => text.startsWith('-') && letter.test(text));
      if (files.length === 0)
        return { ...UNKNOWN_STREAM, under: { ...here, ...(has(/[aA]/) ? {} : { visible: true }) } };
      const roots = files.map(({ template }) => {
        const path = fromCwd(template, call.state).replace(/[*?].*$/, '');
        return path.replace(/\/[^/]*$/, (tail) => (/[*?]/.test(template) ? '' : tail));
      });
      if (has(/l/) || files.some((word) => word.glob === true))
        return { ...UNKNOWN_STREAM, under: { roots, names: [] } };
      return { kind: 'literal', text: `${files.map((word) => word.template).join('\n')}\n${UNKNOWN}` };
    }
    case 'tree': {
      const places = texts.filter((text) => !text.startsWith('-'));
      const roots = (places.length === 0 ? ['.'] : places).map((path) => fromCwd(path, call.state));
      return { ...UNKNOWN_STREAM, under: { roots, names: [] } };
    }
    case 'find':
      return { ...UNKNOWN_STREAM, under: searchedTree(call.words, call.state) };
    case 'fd':
      return { ...UNKNOWN_STREAM, under: fdTree(call, args) };
    case 'git': {
      const [verb, ...rest] = gitWords(call.words).words.map((word) => word.template);
      const lists =
        verb === 'ls-files' || (verb === 'grep' && rest.some((text) => /^(-[a-zA-Z]*l|--name-only)/.test(text)));
      if (!lists) return UNKNOWN_STREAM;
      const others = rest.some((text) => /^(-[a-z]*o[a-z]*|--others)$/.test(text));
      const names = verb === 'grep' ? [] : rest.flatMap((text) => (/[*?]/.test(text) ? text.replace(/^.*\//, '') : []));
      return {
        ...UNKNOWN_STREAM,
        under: { roots: [call.state.cwd], names, filesOnly: true, ...(others ? {} : { tracked: true as const }) },
      };
    }
    default: {
      // Whatever gets a list of found files may print found files.
      const list = call.stdin.under ?? args.find((word) => word.contentUnder !== undefined)?.contentUnder;
      // `find . | grep hook` keeps those of that name.
      const isFilter = /^(?:e?grep|rg)$/.test(name) && args.length === 1 && list?.names.length === 0;
      const glob = isFilter ? nameGlob(args[0], false) : '*';
      const under = list && glob !== '*' ? { ...list, names: [glob] } : list;
      return SILENT_COMMANDS.has(name) ? SILENT : { ...UNKNOWN_STREAM, ...(under && { under }) };
    }
  }
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
