import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { realPathOf } from '../../../state/files/regular-file.ts';
import { onPath } from '../../../state/process/find-program.ts';

export interface ProjectPlace {
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a command needs and does not find. */
export interface Missing {
  /** `argument`: a script that an interpreter is to run. `package`: a program of npx. */
  readonly kind: 'program' | 'file' | 'module' | 'script' | 'target' | 'argument' | 'package';
  readonly name: string;
  readonly why: string;
  /** Advice after it, in a sentence that begins with a space; '' if there is none. */
  readonly hint: string;
  /** Project files that would have it. */
  readonly files: readonly string[];
}

/** Programs that run the script of their first argument: names, and options that may stand before it. */
const INTERPRETERS: readonly (readonly [program: RegExp, options: RegExp])[] = [
  [/^(?:node|nodejs|tsx|ts-node)$/, /^--(?:no-warnings|enable-source-maps|experimental-[\w-]+|trace-[\w-]+)$/],
  [/^(?:deno|bun)$/, /^(?:run|-A|-q|--quiet|--allow-\S+)$/],
  [/^python[\d.]*$/, /^-[uBEsSOI]+$/],
  [/^(?:ba|da|z|k)?sh$/, /^-[euxv]+$/],
  [/^(?:ruby|perl)$/, /^-[wW]$/],
  [/^php$/, /^$/],
];

/** Returns the script that an interpreter is to run, or the program that npx may not install, if it is not there. */
export function missingArgument([name = '', ...rest]: readonly string[], place: ProjectPlace): Missing | null {
  if (name === 'npx') return missingPackage(rest, place);
  const [, options] = INTERPRETERS.find(([program]) => program.test(name)) ?? [];
  const script = options && rest.find((word) => !options.test(word));
  if (script === undefined || !/^[\w@+/.-]*\.\w+$/.test(script) || script.startsWith('-')) return null;
  const path = resolve(place.dir, script);
  if (existsSync(path)) return null;
  const files = [relative(place.dir, path).split(sep).join('/')];
  return { kind: 'argument', name: script, why: `there is no file ${script}.`, hint: '', files };
}

function missingPackage(words: readonly string[], { dir, env }: ProjectPlace): Missing | null {
  const program = words.find((word) => !word.startsWith('-')) ?? '';
  const isPlain = /^[\w.-]+$/.test(program) && words.every((word) => !/^(?:-p|-c|--package|--call)(?:=|$)/.test(word));
  if (!isPlain || onPath(program, env) !== null || isInstalled(dir, program)) return null;
  const isRefused = words.slice(0, words.indexOf(program)).some((word) => /^--no(?:-install)?$/.test(word));
  if (!isRefused) return null;
  return {
    kind: 'package',
    name: program,
    why: `no package that is installed has the program "${program}".`,
    hint: '',
    files: ['package.json'],
  };
}

function isInstalled(dir: string, program: string): boolean {
  for (let at = dir; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', '.bin', program))) return true;
    if (at === dirname(at)) return false;
  }
}

const NOT_THERE =
  /cannot find|can't (?:open|find)|cannot open|could not (?:open|find|be found)|not found|no such file/i;

/** Returns whether the output of a command says that this script is not there, as its interpreter does. */
export function isSaid({ name }: Pick<Missing, 'name'>, output: string, { dir }: Pick<ProjectPlace, 'dir'>): boolean {
  const names = [name, resolve(dir, name), resolve(realPathOf(dir) ?? dir, name)];
  const said = output.split('\n').filter((line) => NOT_THERE.test(line));
  return said.some((line) => line.split(/['"`\s:]+/).some((word) => names.includes(word)));
}
