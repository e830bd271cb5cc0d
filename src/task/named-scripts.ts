import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { commandWords } from './command-words.ts';
import { packageManagerCall } from './package-manager-call.ts';
import { packageScript, packageScriptKey } from './package-script.ts';
import { isProjectFile, projectPath } from './project-file.ts';

/** Commands whose operands are what is looked at, moved or printed: data, which the agent is there to change. */
const DATA_COMMANDS = new Set(
  '[ test cat grep egrep fgrep rg ag head tail wc cmp diff jq yq ls stat find sort uniq cut tr echo printf git cp mv rm mkdir touch tee ln cd true false :'.split(
    ' ',
  ),
);
const MAKE = new Set(['make', 'gmake']);
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const MAX_DEPTH = 4;

/**
 * The project's own files that a shell command names, so that the contract can hold their hashes: by path relative to
 * the project, each once, in order. A script of a package.json counts as `package.json#scripts.NAME`, so that the rest
 * of that file may change, and what it runs counts too. A path in `known` counts even when its file is gone.
 */
export function namedScripts(projectDir: string, run: string, known: ReadonlySet<string> = new Set()): string[] {
  const found = new Set<string>();
  collect({ projectDir, known, found }, run, projectDir, 0);
  return [...found];
}

interface Search {
  readonly projectDir: string;
  readonly known: ReadonlySet<string>;
  readonly found: Set<string>;
}

function collect(search: Search, run: string, directory: string, depth: number): void {
  if (depth > MAX_DEPTH) return;
  const commands = commandWords(run);
  // A literal `cd` may or may not have happened before another command: its files count both ways.
  const entered = commands.flatMap(([name, ...rest]) =>
    name === 'cd' ? rest.filter((word) => !word.startsWith('-')) : [],
  );
  const bases = [directory, ...entered.slice(0, 8).map((path) => resolve(directory, path))];
  for (const words of commands) {
    for (const base of bases) {
      addFiles(search, words, base);
      addMakefile(search, words, base);
      addPackageScripts(search, words, base, depth);
    }
  }
}

function addFiles(search: Search, words: readonly string[], base: string): void {
  const data = DATA_COMMANDS.has(words[0] ?? '');
  for (const word of data ? words.slice(0, 1) : words) {
    for (const candidate of [word, ...afterEquals(word)]) addFile(search, base, candidate);
  }
}

/** `--config=a.js` and `--require=x=a.js` name `a.js`. */
function afterEquals(word: string): string[] {
  const first = word.indexOf('=');
  if (first === -1) return [];
  const last = word.lastIndexOf('=');
  return last === first ? [word.slice(first + 1)] : [word.slice(first + 1), word.slice(last + 1)];
}

function addFile({ projectDir, known, found }: Search, base: string, word: string): void {
  if (word === '' || word.length > 1024 || word.includes('\0')) return;
  const path = projectPath(projectDir, base, word);
  if (path === null || /(^|\/)package\.json$/.test(path)) return;
  if (known.has(path) || isProjectFile(projectDir, path)) found.add(path);
}

function addMakefile(search: Search, words: readonly string[], base: string): void {
  const at = words.findIndex((word) => MAKE.has(word));
  if (at === -1) return;
  const option = words.indexOf('-C', at);
  const directory = option === -1 ? base : resolve(base, words[option + 1] ?? '');
  for (const name of MAKEFILES) {
    const before = search.found.size;
    addFile(search, directory, name);
    if (search.found.size > before) return;
  }
}

function addPackageScripts(search: Search, words: readonly string[], base: string, depth: number): void {
  const call = packageManagerCall(words);
  if (call === null) return;
  const { projectDir, known, found } = search;
  const directory = packageDirectory(projectDir, call.directory === null ? base : resolve(base, call.directory));
  const path = directory && projectPath(projectDir, directory, 'package.json');
  if (directory === null || path === null) return;
  for (const name of [`pre${call.script}`, call.script, `post${call.script}`]) {
    const key = packageScriptKey(path, name);
    const text = packageScript(projectDir, path, name);
    if (found.has(key) || (text === null && !known.has(key))) continue;
    found.add(key);
    if (text !== null) collect(search, text, directory, depth + 1);
  }
}

/** Where the package manager finds its package.json: here or in the nearest parent within the project. */
function packageDirectory(projectDir: string, from: string): string | null {
  for (let at = from; projectPath(projectDir, at, 'package.json') !== null; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) return null;
  }
  return null;
}
