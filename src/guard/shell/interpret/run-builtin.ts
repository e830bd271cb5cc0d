import { posix } from 'node:path';
import { firstLine } from '../../../text/quote.ts';
import { withoutEndSlashes } from '../../comparable-path.ts';
import { STDIN } from '../program-words.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Call, Outcome, ShellContext, ShellState, ValueWord } from '../shell-state.ts';
import { caseKey, fromCwd, inside, reportCall, SILENT, withOddGlobs, withVariable } from '../shell-state.ts';
import { asValue, byProgram } from '../words.ts';
import { formatted } from './literal-output.ts';
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
    // Other marks between the words are not followed.
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
      // A name reference changes with the variable that it refers to.
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
  // A part that is not known may lead anywhere: `/home/me`, `../..`.
  if (cwd.includes(UNKNOWN)) return { states: [there, { ...there, cwd: UNKNOWN }], failed: [state], output: SILENT };
  const isGone = context.facts.writes.some(({ how, recursive, word: gone, cwdTemplate }) => {
    const path = withoutEndSlashes(posix.normalize(fromCwd(gone.template, { cwd: cwdTemplate })));
    const isOpen = gone.text === null || gone.pattern !== undefined;
    return recursive && /^(?:delete|move)$/.test(how) && (isOpen || `${posix.normalize(cwd)}/`.startsWith(`${path}/`));
  });
  const isThere = others.length === 0 && !isGone && context.options.directoryExists?.(cwd) !== false;
  return { states: [there], failed: isThere ? [] : [state], output: SILENT };
}
