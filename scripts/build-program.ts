import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Metafile } from 'esbuild';
import { HOOK_FILES } from '../src/install/settings/registration.ts';
import { PROGRAM_FILES, PROGRAM_HEAD } from '../src/state/files/code-cache.ts';

export const CLIENT_HOOKS = HOOK_FILES.map((file) => basename(file, '.cjs'));
/** Checks of a host that runs the skill, which calls them with or without a loop. */
export const HOST_HOOKS = ['pre-execute', 'post-execute'];
export const SCRIPTS = ['main', 'statusline'];
/** What records a call, and the user's rules for files and a task's scope, which are small and needed at every edit. */
const RULES = ['src/drive/hook/observe.ts', 'src/guard/files/evaluate-files.ts', 'src/guard/evaluate-scope.ts'];
const SHELL = 'src/guard/evaluate-shell-command.ts';
/** Module for a start by hand, the only use of zod and yaml in a hook. */
const START = 'src/drive/start/start-by-hand.ts';
/** Commands with the page and the server, which nothing else loads. */
const WEB = ['src/cli/web/serve.ts', 'src/cli/web/write-report.ts'];
/** Every command of the fleet. */
const FLEET = ['src/cli/fleet/run-fleet.ts'];

/** File that holds a part, and whether the part is in its beginning, which is all that most tool hooks read. */
type Place = readonly [file: (typeof PROGRAM_FILES)[number], isFirst: boolean];

/** Returns the place of a part: what hooks load at once (tool hooks' first), what they may load later, everything else. */
export function placeOfParts({ outputs }: Metafile): (part: string) => Place {
  const all = Object.entries(outputs);
  const path = (name: string): string => `.build/parts/${name}.js`;
  const reach = (from: readonly string[], lazily: boolean, without: readonly string[] = []): ReadonlySet<string> => {
    const found = new Set(from);
    // A set also visits elements that are added meanwhile.
    for (const part of found) {
      for (const { path, kind, external } of outputs[part]?.imports ?? []) {
        if (!external && !without.includes(path) && (lazily || kind === 'import-statement')) found.add(path);
      }
    }
    return found;
  };
  const partOf = (source: string): string => {
    const [part] = all.find(([, { entryPoint }]) => entryPoint === source) ?? [];
    if (part === undefined) throw new Error(`nothing loads ${source} by import() any more`);
    return part;
  };
  const hooks = [...CLIENT_HOOKS, 'statusline'].map(path);
  const [first, second, third, fourth, fifth] = PROGRAM_FILES;
  const atOnce = reach([...hooks, ...RULES.map(partOf)], false);
  const tools = reach([...hooks.filter((each) => each.includes('-tool-use')), ...RULES.map(partOf)], false);
  const shell = reach([partOf(SHELL)], false);
  const later = reach(hooks, true, [partOf(START)]);
  const commands = [...hooks, ...SCRIPTS.map(path), ...HOST_HOOKS.map(path)];
  const others = reach(commands, true, [...WEB, ...FLEET].map(partOf));
  const web = reach(commands, true, FLEET.map(partOf));
  return (name) => {
    const part = `.build/parts/${name}`;
    if (atOnce.has(part)) return [first, tools.has(part)];
    if (later.has(part)) return [second, shell.has(part)];
    return [others.has(part) ? third : web.has(part) ? fourth : fifth, false];
  };
}

/**
 * Writes the files of the program from the parts into which esbuild has split it: `texts` by their names. Each file is a
 * list: the numbers of the entries, then every part as a function of `require`, which runs another part by its number, and
 * `values`, the array that all parts share. The entry `stop.js` and the part `engine.js`, which it shares with others,
 *
 *     import{a as t}from"./engine.js";import{join as j}from"node:path";t(j("a","b"));
 *     function e(n){return n}export{e as a};
 *
 * become the parts 2 and 1, of which the second puts its export at 0 of `values`:
 *
 *     [{"stop":2},
 *     (require,values)=>{function e(n){return n}values[0]=e;},
 *     (require,values)=>{require(1);const t=values[0];const {join:j}=require("node:path");t(j("a","b"));},
 *     ]
 *
 * `runEntry` in src/state/files/code-cache.ts runs an entry of this list.
 */
export function writeProgram(
  folder: string,
  texts: ReadonlyMap<string, string>,
  placeOf: (part: string) => Place,
): void {
  const entries = [...CLIENT_HOOKS, ...HOST_HOOKS, ...SCRIPTS];
  const numbers = new Map<string, number>();
  const files = PROGRAM_FILES.map((file, nth) => {
    const own = [true, false].map((first) => {
      return [...texts.keys()].filter((name) => placeOf(name).every((each, at) => each === [file, first][at]));
    });
    for (const [index, name] of own.flat().entries()) numbers.set(name, nth * 1000 + index + 1);
    return { file, own };
  });
  let slots = 0;
  for (const part of [...numbers.keys()]) {
    const isLazy = [...texts.values()].some((text) => text.includes(`import("./${part}")`));
    const [, list = ''] = isLazy ? [] : (EXPORT.exec(texts.get(part) ?? '') ?? []);
    for (const [, name] of pairsOf(list)) numbers.set(`${part} ${name}`, slots++);
  }
  const table = JSON.stringify(Object.fromEntries(entries.map((name) => [name, numbers.get(`${name}.js`)])));
  for (const { file, own } of files) {
    const [first = '', rest = ''] = own.map((names) =>
      asAscii(
        names.map((name) => `(require,values)=>{${functionBody(texts.get(name) ?? '', name, numbers)}},\n`).join(''),
      ),
    );
    const begin = `*/"use strict";(__filename)=>[${table},\n${first}`;
    const head = `/*${PROGRAM_HEAD + begin.length} ${(own[0]?.length ?? 0) + 1}`.padEnd(PROGRAM_HEAD);
    writeFileSync(join(folder, file), `${head}${begin}${rest}]\n`);
  }
}

/** Makes the program ASCII, so that offsets in bytes and text agree. esbuild escapes everything but regular expressions. */
function asAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const IMPORT = /\bimport(?: ([\w$]+) from|\*as ([\w$]+) from|\{([^{}"]*)\}from)?"(node:[\w/]+|\.\/[\w-]+\.js)";/g;
const LAZY_IMPORT = /\bimport\("(\.\/[\w-]+\.js)"\)/g;
const EXPORT = /export\{([^{}]*)\};\s*$/;

function pairsOf(list: string): (readonly [from: string, to: string])[] {
  return list.split(',').flatMap((each) => {
    const [from = '', to = from] = each.split(' as ');
    return from === '' ? [] : [[from, to] as const];
  });
}

/**
 * Makes a part a function's body. What another part imports is in an array that all share: objects, which V8 makes name by
 * name in every process, cost a shell command a millisecond. What import() loads is returned.
 */
function functionBody(text: string, own: string, numbers: ReadonlyMap<string, number>): string {
  const slotOf = (part: string, name: string): number | undefined => numbers.get(`${part} ${name}`);
  const body = text
    .replace(IMPORT, (_, name?: string, all?: string, list = '', from = '') => {
      if (!from.startsWith('.'))
        return `const ${name ?? all ?? `{${list.replaceAll(' as ', ':')}}`}=require("${from}");`;
      const part = from.slice(2);
      const taken = pairsOf(list).map(([exported, local]) => `const ${local}=values[${slotOf(part, exported)}];`);
      return `require(${numbers.get(part)});${taken.join('')}`;
    })
    .replace(LAZY_IMPORT, (_, from: string) => `Promise.resolve().then(()=>require(${numbers.get(from.slice(2))}))`)
    .replace(EXPORT, (_, list: string) => {
      const pairs = pairsOf(list);
      if (pairs.every(([, name]) => slotOf(own, name) === undefined)) {
        return `return{${pairs.map(([local, name]) => `${name}:${local}`).join(',')}}`;
      }
      return pairs.map(([local, name]) => `values[${slotOf(own, name)}]=${local};`).join('');
    });
  const odd = /(?:^|[;}])(?:import(?:[*{"]| [\w$]+ from")|export\{).{0,80}|(?:values\[|require\()undefined/.exec(body);
  if (odd !== null) throw new Error(`cannot convert ${odd[0]}`);
  return body;
}
