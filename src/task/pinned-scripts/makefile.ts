import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import picomatch from 'picomatch';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';

export const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
/** Files of programs that run the commands of goals, in the order in which each looks for them. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  make: MAKEFILES,
  just: ['justfile', 'Justfile', '.justfile'],
  task: ['Taskfile.yml', 'taskfile.yml', 'Taskfile.yaml', 'taskfile.yaml', 'Taskfile.dist.yml', 'Taskfile.dist.yaml'],
};
/** Their short options for the folder and for the file. */
const OPTIONS: Readonly<Record<string, string>> = { make: 'Cf', just: 'df', task: 'dt' };
const MAX_BYTES = 512 * 1024;
const MAX_INCLUDES = 100;

interface MakeCall {
  readonly directory: string;
  /** Paths relative to `directory`: the makefile, its includes, and names that would take precedence over it. */
  readonly files: readonly string[];
  readonly absent: readonly string[];
  /** Goals by name, except those declared as phony. */
  readonly goals: readonly string[];
  /** Commands of the rules that the call may run. */
  readonly recipes: readonly string[];
}

/** Returns what a call of make, just or task runs; null if the words are not such a call, or there is no file. Never throws. */
export function makeCall(words: readonly string[], base: string): MakeCall | null {
  const at = words.findIndex((word) => /^(?:.*\/)?(?:g?make|just|task)$/.test(word));
  if (at === -1) return null;
  const rest = words.slice(at + 1);
  // Short options may stand together, and their value behind them: `make -sC sub`, `make -fbuild.mk`.
  const optionValue = (letter: string, long: string): string | undefined => {
    const option = new RegExp(`^(?:-[a-zB]*?${letter}|--(?:${long})(?:=|$))`);
    const index = rest.findIndex((word) => option.test(word));
    return index === -1 ? undefined : rest[index]?.replace(option, '') || rest[index + 1];
  };
  const program = /\w*$/.exec(words[at] ?? '')?.[0].replace('gmake', 'make') ?? '';
  const [place, file] = OPTIONS[program] ?? '';
  const directory = resolve(base, optionValue(place ?? '', 'directory|dir|working-directory') ?? '.');
  const named = optionValue(file ?? '', 'file|makefile|justfile|taskfile');
  const names = FILES[program] ?? [];
  const first = named ?? names.find((name) => existsSync(join(directory, name)));
  if (first === undefined) return null;
  const files = withIncludes(directory, first);
  const text = files
    .map((path) => asMakefile(program, readRegularFile(join(directory, path), MAX_BYTES) ?? ''))
    .join('\n');
  const absent = named === undefined ? names.slice(0, names.indexOf(first)) : [];
  const operands = rest.filter((word) => /^[\w./-]+$/.test(word) && !word.startsWith('-'));
  const goals = operands.length === 0 && program === 'task' ? ['default'] : operands;
  if (program !== 'make') return { directory, files, absent, recipes: recipesOf(text, goals), goals: [] };
  const phony = [...text.matchAll(/^\.PHONY[ \t]*:(.*)/gm)].flatMap(([, names = '']) => names.trim().split(/\s+/));
  const recipes = recipesOf(text, goals);
  return { directory, files, absent, recipes, goals: goals.filter((goal) => !phony.includes(goal)) };
}

/** Writes the recipes of a justfile, or the tasks of a Taskfile, as rules of make. */
function asMakefile(program: string, text: string): string {
  if (program === 'just')
    return text
      .replace(/^[ \t]+(?=\S)/gm, '\t')
      .replace(
        /^@?([\w-]+)(?![\w-])[^:\n]*:(?!=)(.*)$/gm,
        (_, name, needs) => `${name}: ${needs.replace(/[()]/g, ' ')}`,
      );
  if (program !== 'task') return text;
  return text
    .replace(/^ {2}([\w-]+): *(?:\r?\n|$)/gm, '$1:\n')
    .replace(/^ {2}([\w-]+): +(?=\S)/gm, '$1:\n\t')
    .replace(/^ {3,}(?:- +)?(?:cmd: +)?['"]?/gm, '\t');
}

function withIncludes(directory: string, first: string): string[] {
  const files = [first];
  for (let index = 0; index < files.length && files.length < MAX_INCLUDES; index++) {
    const text = readRegularFile(join(directory, files[index] ?? ''), MAX_BYTES) ?? '';
    const variables = variablesOf(text);
    for (const [, names = ''] of text.matchAll(/^[ ]*(?:[-s]?include[ \t]+|import\??[ \t]+['"])([^#'"\n]+)/gm)) {
      const more = fillVariables(names, variables).trim().split(/\s+/);
      files.push(...more.flatMap((name) => filesLike(directory, name)).filter((name) => !files.includes(name)));
    }
  }
  return files;
}

/** Returns the files that a pattern means now; any other name as it is. */
function filesLike(directory: string, name: string): string[] {
  if (/\$|[*?[].*\//.test(name)) return [];
  if (!/[*?[]/.test(name)) return [name];
  return ifOutOfReach(() => readdirSync(join(directory, dirname(name))), [])
    .map((each) => normalize(join(dirname(name), each)))
    .filter((each) => picomatch.isMatch(each, normalize(name)))
    .toSorted();
}

function variablesOf(text: string): ReadonlyMap<string, string> {
  const found = text.matchAll(/^([\w.-]+)[ \t]*[:?]?:?=[ \t]*(.*)$/gm);
  return new Map([...found].map(([, name = '', value = '']) => [name, value]));
}

function fillVariables(line: string, variables: ReadonlyMap<string, string>, depth = 0): string {
  if (depth > 5) return line;
  const filled = line.replace(/\$[({]([\w.-]+)[)}]/g, (whole, name) => {
    const value = variables.get(name);
    return value === undefined ? (name === 'MAKE' ? 'make' : whole) : fillVariables(value, variables, depth + 1);
  });
  // The files that match now: the names of a pattern are found where they are needed.
  const plain = filled.replace(/\$[({](?:wildcard|sort)[ \t]+([^$(){}]*)[)}]/g, '$1');
  return plain === filled ? filled.replaceAll('$$', '$') : fillVariables(plain, variables, depth + 1);
}

/** A recipe that runs other goals: itself or, in a Taskfile, by their names. */
const RUNS_GOALS = /^[\s@+-]*(?:(?:make|just|task:?|deps:)\s+(?=\S)([\w./ ,[\]-]+)|(\w[\w-]*))$/;

/** Returns the commands of the goals (default: the first rule) and their prerequisites, with plain variables filled in. */
function recipesOf(text: string, goals: readonly string[]): string[] {
  const variables = variablesOf(text);
  const fill = (line: string): string => fillVariables(line, variables);
  const rules = new Map<string, { needs: string[]; lines: string[] }>();
  let current: { needs: string[]; lines: string[] }[] = [];
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const [, names, needs = '', inline] = /^([^\s:=#][^:=#]*):{1,2}(?!=)([^;=]*)(?:;(.*))?$/.exec(line) ?? [];
    if (line.startsWith('\t')) for (const rule of current) rule.lines.push(line);
    else if (names !== undefined) {
      current = fill(names)
        .trim()
        .split(/\s+/)
        .map((name) => {
          const rule = rules.get(name) ?? { needs: [], lines: [] };
          rules.set(name, rule);
          rule.needs.push(...fill(needs).trim().split(/\s+/));
          if (inline !== undefined) rule.lines.push(inline);
          return rule;
        });
    }
  }
  const patterns = [...rules.keys()].filter((name) => name.includes('%'));
  const ruleOf = (goal: string) =>
    rules.get(goal) ??
    rules.get(
      patterns.find((name) => {
        const [before = '', after = ''] = name.split('%', 2);
        return goal.startsWith(before) && goal.endsWith(after);
      }) ?? '',
    );
  const reached = goals.filter((goal) => ruleOf(goal) !== undefined);
  const first = [...rules.keys()].find((name) => !name.startsWith('.'));
  if (reached.length === 0 && first !== undefined) reached.push(first);
  for (const name of reached) {
    const { needs = [], lines = [] } = ruleOf(name) ?? {};
    const called = lines.flatMap(
      (line) =>
        RUNS_GOALS.exec(fill(line))
          ?.slice(1)
          .join(' ')
          .split(/[\s,[\]]+/) ?? [],
    );
    reached.push(...[...needs, ...called].filter((need) => need !== '' && ruleOf(need) && !reached.includes(need)));
  }
  return reached.flatMap((name) => (ruleOf(name)?.lines ?? []).map((line) => fill(line.replace(/^[\s@+-]+/, ''))));
}
