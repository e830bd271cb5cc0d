import { isStandardInput } from '../program-words.ts';
import { UNKNOWN } from '../shell-reading.ts';
import {
  type Call,
  fileKey,
  literalOrNull,
  type Outcome,
  report,
  SILENT,
  type ValueWord,
  type Walk,
  type World,
  withVariable,
} from '../shell-state.ts';

type Builtin = (call: Call, args: readonly string[], walk: Walk) => Outcome | undefined;

/** Runs the builtins that change what the shell knows; undefined for every other command. */
export function runBuiltin(call: Call, name: string, walk: Walk): Outcome | undefined {
  const builtin = Object.hasOwn(BUILTINS, name) ? BUILTINS[name] : undefined;
  return builtin?.(
    call,
    call.words.slice(1).map((word) => word.template),
    walk,
  );
}

const BUILTINS: Readonly<Record<string, Builtin>> = {
  cd: changeDirectory,
  chdir: changeDirectory,
  pushd: changeDirectory,
  popd: changeDirectory,
  eval: (call, args, walk) => runText(call, args.join(' '), walk),
  trap: (call, args, walk) => {
    const code = args.find((arg) => !arg.startsWith('-'));
    return code === undefined || args.length < 2 ? undefined : runText(call, code, walk);
  },
  source: runFile,
  '.': runFile,
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  alias: (call, args) => {
    let functions = call.world.functions;
    for (const arg of args) {
      const equals = arg.indexOf('=');
      if (equals > 0 && !arg.includes(UNKNOWN)) {
        functions = new Map(functions).set(arg.slice(0, equals), { kind: 'alias', text: arg.slice(equals + 1) });
      }
    }
    return moved({ ...call.world, functions });
  },
  hash: (call, args) => {
    const [option, path, name] = args;
    if (option !== '-p' || path === undefined || name === undefined) return undefined;
    const functions = new Map(call.world.functions).set(name, { kind: 'alias', text: path });
    return moved({ ...call.world, functions });
  },
  unset: (call, args) => moved(args.reduce((world, name) => withVariable(world, name, undefined), call.world)),
  set: (call, args) => {
    const from = args.indexOf('--');
    const first = from === -1 ? args.findIndex((arg) => !/^[-+]/.test(arg)) : from + 1;
    if (first === -1) return moved(call.world);
    return moved({ ...call.world, positional: args.slice(first).map((template) => ({ template })) });
  },
  shift: (call, args) =>
    moved({ ...call.world, positional: call.world.positional?.slice(Number(args[0] ?? 1)) ?? null }),
  read: (call, args) => {
    const names = args.filter(
      (arg, index) => /^[A-Za-z_]\w*$/.test(arg) && !/^-\w*[pdnNtui]$/.test(args[index - 1] ?? ''),
    );
    return readInto(call, names.length === 0 ? ['REPLY'] : names);
  },
  mapfile: (call, args) => readInto(call, [args.at(-1) ?? 'MAPFILE']),
  readarray: (call, args) => readInto(call, [args.at(-1) ?? 'MAPFILE']),
  printf: (call, args) => {
    if (args[0] !== '-v' || args[1] === undefined) return undefined;
    const value = args.length === 3 && args[2] !== undefined && !args[2].includes('%') ? args[2] : UNKNOWN;
    return moved(withVariable(call.world, args[1], [{ template: value }]));
  },
};

function moved(world: World): Outcome {
  return { worlds: [world], output: SILENT };
}

function runText(call: Call, text: string, walk: Walk): Outcome {
  if (text.includes(UNKNOWN))
    report(walk, 'dynamic-command', call.source, call.position, literalOrNull(call.world.cwd));
  const inner = {
    ...walk,
    via: [...walk.via, call.words[0]?.template ?? ''],
    position: walk.position ?? call.position,
  };
  return walk.text(text, [call.world], call.stdin, inner);
}

/** `source FILE` runs what the file holds; known only where this very command wrote it or a substitution makes it. */
function runFile(call: Call, args: readonly string[], walk: Walk): Outcome | undefined {
  const word = call.words[1];
  const path = args[0];
  if (word === undefined || path === undefined) return undefined;
  const content =
    word.content ??
    (isStandardInput(path) && call.stdin.kind !== 'none' ? call.stdin.text : undefined) ??
    call.world.files.get(fileKey(path, call.world));
  if (content === undefined) return undefined;
  if (content.includes(UNKNOWN))
    report(walk, 'dynamic-piped-to-shell', call.source, call.position, literalOrNull(call.world.cwd));
  return runText(call, content, walk);
}

function declare(call: Call, args: readonly string[]): Outcome {
  let world = call.world;
  // A name for another variable: what it stands for changes with that one.
  const isReference = args.some((arg) => /^-[a-zA-Z]*n/.test(arg));
  for (const arg of args) {
    const equals = arg.indexOf('=');
    if (equals > 0 && !arg.startsWith('-')) {
      const name = arg.slice(0, equals).replace(/\+$/, '');
      world = withVariable(world, name, [{ template: isReference ? UNKNOWN : arg.slice(equals + 1) }]);
    }
  }
  return moved(world);
}

/** More lines than this are not followed one by one. */
const MAX_LINES = 8;

function readInto(call: Call, names: readonly string[]): Outcome {
  const { text, under } = call.stdin;
  const lines = text.replace(/\n$/, '').split('\n');
  const followed = names.length === 1 && text !== '' && lines.length <= MAX_LINES;
  const values: readonly ValueWord[] = under
    ? [{ template: UNKNOWN, under }]
    : followed
      ? lines.map((line) => ({ template: line.trim() }))
      : [{ template: UNKNOWN }];
  return {
    worlds: values.map((value) => names.reduce((world, name) => withVariable(world, name, [value]), call.world)),
    output: SILENT,
  };
}

/** Follows `cd`, `pushd` and `popd`; where the directory does not exist, both ways stay open. */
export function changeDirectory(call: Call, _args: readonly string[], walk: Walk): Outcome {
  const { world } = call;
  const stacked = call.words[0]?.template === 'pushd';
  if (call.words[0]?.template === 'popd') {
    const [top = UNKNOWN, ...stack] = world.stack;
    return { worlds: [{ ...world, cwd: top, previous: world.cwd, stack }], output: SILENT };
  }
  const word = call.words.slice(1).find((each) => !/^-[PLe@]+$|^--$/.test(each.template));
  const target = word?.glob === true ? word.template.replace(/\[[^\]]*\]|[*?]/g, UNKNOWN) : (word?.template ?? '~');
  const cwd = target === '~' ? walk.options.home : target === '-' ? world.previous : joinPath(world.cwd, target);
  const there = { ...world, cwd, previous: world.cwd, stack: stacked ? [world.cwd, ...world.stack] : world.stack };
  const exists = cwd.includes(UNKNOWN) || walk.options.directoryExists?.(cwd) !== false;
  return { worlds: [there], failed: exists ? [] : [world], output: SILENT };
}

function joinPath(cwd: string, target: string): string {
  if (target.startsWith('/')) return target;
  return `${cwd.replace(/\/+$/, '')}/${target}`;
}
