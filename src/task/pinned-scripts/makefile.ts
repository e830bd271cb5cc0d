import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import picomatch from 'picomatch';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';

/**
 * Programs that run the commands of goals: names of their file, in search order; their short options for a folder and a
 * file; patterns for the beginning of a rule (its names, the goals that it needs, a command) and for a command in it.
 */
export const GOAL_PROGRAMS = {
  make: {
    files: ['GNUmakefile', 'makefile', 'Makefile'],
    options: 'Cf',
    rule: /^([^\s:=#][^:=#]*):{1,2}(?!=)([^;=#]*)(?:;(.*)|[=#].*)?$/,
    command: /^\t[\s@+-]*/,
  },
  just: {
    files: ['justfile', 'Justfile', '.justfile'],
    options: 'df',
    rule: /^@?([a-zA-Z_][\w-]*)(?:[ \t][^:\n]*)?:(?!=)([^#]*)/,
    command: /^[ \t]+[@-]*/,
  },
  task: {
    files: 'Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml'.split(' '),
    options: 'dt',
    rule: /^['"]?(\w[\w.:/*-]*)['"]?:()(?: +(.*))?$/,
    command: /^ +(?:- +)?(?:cmds?: +)?['"[]*/,
  },
};
export type GoalProgram = keyof typeof GOAL_PROGRAMS;

const MAX_BYTES = 512 * 1024;
const MAX_INCLUDES = 100;

/** Pattern for settings that name another default goal, or a shell that ends at the first failure. */
const SETTINGS = /^(?:\.DEFAULT_GOAL|(?:export\s+)?(?:\.?SHELL|set +shell).*(?:[\s"'=]-\w*e|errexit|pipefail))/m;

/**
 * Returns what a call of make, just or task runs; null if the words are not such a call, or if there is no file. Never
 * throws. `files` and `absent` are relative to `directory`: the makefile with its includes, and names that would precede it.
 * `goals` are not phony. `recipes`: the commands that it may run; one whose failure is ignored begins with "-". `isPlain`:
 * it runs exactly these, each in a shell that does not end early.
 */
export function makeCall(words: readonly string[], base: string) {
  const at = words.findIndex((word) => /^(?:.*\/)?(?:g?make|just|task)$/.test(word));
  if (at === -1) return null;
  const name = /g?(make|just|task)$/.exec(words[at] ?? '')?.[1] as GoalProgram;
  const rest = words.slice(at + 1);
  const { files: names, options } = GOAL_PROGRAMS[name];
  // Short options may be combined, with the value attached: `make -sC sub`, `make -fbuild.mk`.
  const [folder, named] = ['directory|dir|working-directory', 'file|makefile|justfile|taskfile'].map((long, index) => {
    const option = new RegExp(`^(?:-[a-zB]*?${options[index]}|--(?:${long})(?:=|$))`);
    const found = rest.findIndex((word) => option.test(word));
    return found === -1 ? undefined : rest[found]?.replace(option, '') || rest[found + 1];
  });
  const directory = resolve(base, folder ?? '.');
  const first = named ?? goalFile(name, directory);
  if (first === undefined) return null;
  const files = withIncludes(directory, first);
  const texts = files.map((path) => readRegularFile(join(directory, path), MAX_BYTES) ?? '');
  const rules = goalRules(name, texts);
  const operands = rest.filter((word) => /^[\w.:/-]+$/.test(word) && !word.startsWith('-'));
  const recipes = recipesOf(rules, operands.length === 0 && name === 'task' ? ['default'] : operands);
  const absent = named === undefined ? names.slice(0, names.indexOf(first)) : [];
  const goals = operands.filter((goal) => name === 'make' && !rules.get('.PHONY')?.needs.includes(goal));
  const isFound = operands.length === 0 || operands.some((goal) => rules.has(goal));
  const isPlain = isFound && !texts.some((text) => SETTINGS.test(text));
  return { directory, files, absent, recipes, goals, isPlain };
}

/** Returns a folder's file with the goals of make, just or task. */
export function goalFile(program: GoalProgram, directory: string): string | undefined {
  return GOAL_PROGRAMS[program].files.find((name) => existsSync(join(directory, name)));
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

/** Returns the files that a pattern matches now, or a plain name; none for a variable or a pattern of folders. */
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
  if (depth > 5 || !line.includes('$')) return line;
  const filled = line.replace(/\$[({]([\w.-]+)[)}]/g, (whole, name) => {
    const value = variables.get(name);
    return value === undefined ? (name === 'MAKE' ? 'make' : whole) : fillVariables(value, variables, depth + 1);
  });
  // Patterns count as the names they match now.
  const plain = filled.replace(/\$[({](?:wildcard|sort)[ \t]+([^$(){}]*)[)}]/g, '$1');
  return plain === filled ? filled.replaceAll('$$', '$') : fillVariables(plain, variables, depth + 1);
}

interface Rule {
  readonly needs: string[];
  readonly commands: string[];
}

/** Returns the rules in files of make, just or task, by goal, with plain variables filled in. */
export function goalRules(name: GoalProgram, texts: readonly string[]): ReadonlyMap<string, Rule> {
  const { rule, command } = GOAL_PROGRAMS[name];
  const text = texts.map((each) => plainRules(name, each.replaceAll('\r', ''))).join('\n');
  const variables = variablesOf(text);
  const fill = (line: string): string => fillVariables(line, variables);
  const rules = new Map<string, Rule>();
  let current: Rule[] = [];
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const [, goals, needs = '', inline = ''] = rule.exec(line) ?? [];
    if (goals !== undefined) {
      const names = new Set(wordsOf(fill(goals)));
      for (const goal of names) if (!rules.has(goal)) rules.set(goal, { needs: [], commands: [] });
      current = [...names].flatMap((goal) => rules.get(goal) ?? []);
    }
    // Keeps a leading "-", which ignores the command's failure.
    const mark = name !== 'task' && /^\s[\s@+]*-/.test(line) ? '-' : '';
    const said = goals === undefined && command.test(line) ? mark + fill(line.replace(command, '')) : fill(inline);
    const [, listed = '', alone = ''] = GOALS.exec(said) ?? [];
    for (const { needs: all, commands } of current) {
      all.push(...wordsOf(`${fill(needs)} ${listed} ${alone}`));
      if (said !== '') commands.push(said);
    }
  }
  return rules;
}

/** Pattern for goals in place of a command: in a Taskfile, as a list or as one of its lines. */
const GOALS = /^(?:\{? *(?:task|deps):(.*)|([\w.:/-]+))['"]?$/;

/** Returns a justfile with aliases as rules, or the tasks of a Taskfile without their common indentation. */
function plainRules(name: GoalProgram, text: string): string {
  if (name !== 'task') return name === 'just' ? text.replace(/^alias +([\w-]+) *:= *([\w-]+)/gm, '$1: $2') : text;
  const [, indent = '', tasks = ''] = /^tasks:.*\n(?:[ \t]*(?:#.*)?\n)*( +)(\S[\s\S]*)/m.exec(text) ?? [];
  const lines = tasks.replace(/^( *)cmds: *\[(.*)\]/gm, (_, at, list: string) =>
    list.replace(/(?:^|, *)/g, `\n${at} - `),
  );
  return lines.replace(new RegExp(`^${indent}`, 'gm'), '');
}

const wordsOf = (text: string): string[] => text.match(/[^\s,()[\]{}'"]+/g) ?? [];

/** Returns the commands of the goals (default: the first rule) and of the goals that they need. */
function recipesOf(rules: ReadonlyMap<string, Rule>, goals: readonly string[]): string[] {
  const patterns = [...rules].filter(([name]) => /[%*]/.test(name));
  const isLike = (goal: string, [before = '', after = '']: string[]) => goal.startsWith(before) && goal.endsWith(after);
  const ruleOf = (goal: string) =>
    rules.get(goal) ?? patterns.find(([name]) => isLike(goal, name.split(/[%*]/, 2)))?.[1];
  const reached = new Set(goals.flatMap((goal) => ruleOf(goal) ?? []));
  const first = [...rules].find(([name]) => !name.startsWith('.'))?.[1];
  if (reached.size === 0 && first !== undefined) reached.add(first);
  // Iterating a set also visits elements that are added meanwhile.
  for (const { needs } of reached) for (const rule of needs.flatMap((goal) => ruleOf(goal) ?? [])) reached.add(rule);
  return [...reached].flatMap(({ commands }) => commands);
}
