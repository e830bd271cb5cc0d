import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';

export const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const MAX_BYTES = 512 * 1024;
const MAX_INCLUDES = 20;

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

/** Returns what a call of make runs; null if the words are not such a call, or there is no makefile. Never throws. */
export function makeCall(words: readonly string[], base: string): MakeCall | null {
  const at = words.findIndex((word) => /^(?:.*\/)?g?make$/.test(word));
  if (at === -1) return null;
  const rest = words.slice(at + 1);
  const optionValue = (short: string, long: string): string | undefined => {
    const index = rest.findIndex((word) => word === short || word === long);
    return index === -1 ? rest.find((word) => word.startsWith(`${long}=`))?.slice(long.length + 1) : rest[index + 1];
  };
  const directory = resolve(base, optionValue('-C', '--directory') ?? '.');
  const named = optionValue('-f', '--file') ?? optionValue('-f', '--makefile');
  const first = named ?? MAKEFILES.find((name) => existsSync(join(directory, name)));
  if (first === undefined) return null;
  const files = withIncludes(directory, first);
  const text = files.map((path) => readRegularFile(join(directory, path), MAX_BYTES) ?? '').join('\n');
  const absent = named === undefined ? MAKEFILES.slice(0, MAKEFILES.indexOf(first)) : [];
  const goals = rest.filter((word) => /^[\w./-]+$/.test(word) && !word.startsWith('-'));
  const phony = [...text.matchAll(/^\.PHONY[ \t]*:(.*)/gm)].flatMap(([, names = '']) => names.trim().split(/\s+/));
  const recipes = recipesOf(text, goals);
  return { directory, files, absent, recipes, goals: goals.filter((goal) => !phony.includes(goal)) };
}

function withIncludes(directory: string, first: string): string[] {
  const files = [first];
  for (let index = 0; index < files.length && files.length < MAX_INCLUDES; index++) {
    const text = readRegularFile(join(directory, files[index] ?? ''), MAX_BYTES) ?? '';
    for (const [, names = ''] of text.matchAll(/^[ ]*[-s]?include[ \t]+([^#$\n]+)/gm)) {
      const more = names.trim().split(/\s+/);
      files.push(...more.filter((name) => !files.includes(name) && !/[*?[]/.test(name)));
    }
  }
  return files;
}

/** Returns the commands of the goals (default: the first rule) and their prerequisites, with plain variables filled in. */
function recipesOf(text: string, goals: readonly string[]): string[] {
  const variables = new Map(
    [...text.matchAll(/^([\w.-]+)[ \t]*[:?]?:?=[ \t]*(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const fill = (line: string, depth = 0): string =>
    depth > 5
      ? line
      : line
          .replace(/\$[({]([\w.-]+)[)}]/g, (whole, name) => {
            const value = variables.get(name);
            return value === undefined ? (name === 'MAKE' ? 'make' : whole) : fill(value, depth + 1);
          })
          .replaceAll('$$', '$');
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
  const reached = goals.filter((goal) => rules.has(goal));
  const first = [...rules.keys()].find((name) => !name.startsWith('.'));
  if (reached.length === 0 && first !== undefined) reached.push(first);
  for (const name of reached)
    reached.push(...(rules.get(name)?.needs ?? []).filter((need) => rules.has(need) && !reached.includes(need)));
  return reached.flatMap((name) => (rules.get(name)?.lines ?? []).map((line) => fill(line.replace(/^[\s@+-]+/, ''))));
}
