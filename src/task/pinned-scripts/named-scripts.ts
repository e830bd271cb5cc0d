import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { commandWords } from '../../text/shell/command-words.ts';
import { isProjectFile, projectPath } from '../project-file.ts';
import { packageManagerCall, packageScript, packageScriptKey } from './package-scripts.ts';

/** Commands whose operands are data, which the agent may change. */
const DATA_COMMANDS = new Set(
  '[ test cat grep egrep fgrep rg ag head tail wc cmp diff jq yq ls stat find sort uniq cut tr echo printf git cp mv rm mkdir touch tee ln cd true false :'.split(
    ' ',
  ),
);
const MAKE = new Set(['make', 'gmake']);
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const MAX_DEPTH = 4;

/** Takes scripts as `package.json#scripts.NAME` and follows their commands. Paths in `known` count even if missing. */
export function namedScripts(
  projectDir: string,
  run: string,
  known: ReadonlySet<string> = new Set(),
  directory = projectDir,
): string[] {
  const found = new Set<string>();
  collect({ projectDir, known, found }, run, directory, 0);
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
  // A literal `cd` may or may not have run before another command: count both.
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

/** The first word, operands of interpreters, executables, files after `=`; not what a linter or a test runner reads. */
function addFiles(search: Search, words: readonly string[], base: string): void {
  const [command = '', ...others] = words;
  addFile(search, base, command);
  if (DATA_COMMANDS.has(command)) return;
  const operands = interpreted(words);
  for (const word of others) {
    if (operands.has(word) || isRunnable(search.projectDir, base, word)) addFile(search, base, word);
    for (const candidate of afterEquals(word)) addFile(search, base, candidate);
  }
  // A deleted script still belongs to the contract.
  for (const word of others) {
    const path = projectPath(search.projectDir, base, word);
    if (path !== null && search.known.has(path)) search.found.add(path);
  }
}

const INTERPRETER =
  /^(?:.*\/)?(?:ba|z|da|k|a)?sh$|^(?:.*\/)?(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|ruby|perl|php|Rscript|source|\.)$/;

/** The first operand of each interpreter, unless it runs tests or inline code. */
function interpreted(words: readonly string[]): Set<string> {
  const scripts = new Set<string>();
  for (const [index, word] of words.entries()) {
    if (!INTERPRETER.test(word)) continue;
    const rest = words.slice(index + 1);
    if (rest.some((option) => option === '--test' || option === '-c' || option === '-e')) continue;
    const operand = rest.find((other) => !other.startsWith('-') && other !== 'run');
    if (operand !== undefined) scripts.add(operand);
  }
  return scripts;
}

function isRunnable(projectDir: string, base: string, word: string): boolean {
  const path = word === '' || word.includes('\0') ? null : projectPath(projectDir, base, word);
  if (path === null || !isProjectFile(projectDir, path)) return false;
  const file = join(projectDir, path);
  try {
    return (statSync(file).mode & 0o111) !== 0 || readFileSync(file).subarray(0, 2).toString('latin1') === '#!';
  } catch {
    return false; // unreadable, so not runnable either
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

/** The nearest folder with a package.json, within the project. */
function packageDirectory(projectDir: string, from: string): string | null {
  for (let at = from; projectPath(projectDir, at, 'package.json') !== null; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) return null;
  }
  return null;
}
