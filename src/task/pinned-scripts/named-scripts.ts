import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import picomatch from 'picomatch';
import { ifOutOfReach, readRegularFile, realPathOf } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { commandWords } from '../../text/shell/parse-shell.ts';
import { isProjectFile, isWithin, projectPath } from '../project-file.ts';
import { fileRoles, isData, isDryRun } from './file-roles.ts';
import { makeCall } from './makefile.ts';
import { packageManagerCall, packageScript, packagesBelow, scriptsLike, textsAt } from './package-scripts.ts';
import { declares, type SteeringFile, steeringFiles } from './steering-files.ts';

/** Commands that start the program that follows their options. */
const WRAPPERS = new Set(
  'env timeout nice ionice nohup time command exec xvfb-run stdbuf setsid sudo cross-env npx pnpx bunx then do else if ! {'.split(
    ' ',
  ),
);
/** Limit for endless chains; every script is read only once. */
const MAX_DEPTH = 50;
const SCRIPT_BYTES = 256 * 1024;
/** Limit of the parser: a longer script is read in parts that end at a line end. */
const PART = /[\s\S]{1,16000}(?=\n|$)/g;

/** Dependencies of a command's result, besides the code that it checks. */
export interface Pins {
  /** Files and package scripts (`package.json#scripts.NAME`) that the command runs, at any depth. */
  readonly scripts: ReadonlySet<string>;
  /** Configuration of its runners, by key. */
  readonly steering: ReadonlyMap<string, SteeringFile['as']>;
  /** Names of programs that are searched on the PATH, and paths of programs and scripts outside the project. */
  readonly programs: ReadonlySet<string>;
}

/** Returns the pins of a command. Paths in `known` count even if missing. Never throws. */
export function pinsOf(
  projectDir: string,
  run: string,
  known: ReadonlySet<string> = new Set(),
  directory = projectDir,
): Pins {
  const [found, programs, followed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const steering: Search['steering'] = new Map();
  collect({ projectDir, known, found, steering, programs, followed }, run, directory, 0);
  return { scripts: found, steering, programs };
}

interface Search {
  readonly projectDir: string;
  readonly known: ReadonlySet<string>;
  readonly found: Set<string>;
  readonly steering: Map<string, SteeringFile['as']>;
  readonly programs: Set<string>;
  /** Texts that were followed, with their folders: scripts that run each other would take forever. */
  readonly followed: Set<string>;
}

function collect(search: Search, run: string, directory: string, depth: number): void {
  const text = `${depth > 0} ${directory}\n${run}`;
  if (depth > MAX_DEPTH || search.followed.has(text)) return;
  search.followed.add(text);
  const commands = commandWords(run);
  // A literal `cd` may or may not have run before another command, so both directories count.
  const entered = commands.flatMap(([name, ...rest]) =>
    name === 'cd' || name === 'pushd' ? rest.filter((word) => !word.startsWith('-')) : [],
  );
  const bases = [directory, ...entered.slice(0, 8).map((path) => resolve(directory, path))];
  const loops = new Map([...run.matchAll(LOOP)].map(([, name = '', list = '']) => [name, list.match(LISTED) ?? []]));
  for (const words of commands) {
    for (const base of bases) {
      for (const each of spread(words, loops, base)) addFiles(search, each, base, depth);
      addMakefile(search, words, base, depth);
      addPackageScripts(search, words, base, depth);
      addPrograms(search, words, base, depth);
      for (const folder of upward(search.projectDir, base)) addSteering(search, words, folder, depth);
    }
  }
}

/** Pattern for a loop over files, with its variable and its list. */
const LOOP = /\bfor\s+(\w+)\s+in\s+([^;\n]+)/g;
const LISTED = /[^\s'"`$()]+/g;
const VARIABLE = /\$\{?(\w+)\}?/;
/** Programs that run a file, and files that are commands themselves; others may only read the matches of a glob. */
const RUNS = /^(?:\.|source|(?:ba|z|da|k|fi)?sh|node|deno|bun|tsx|python[\d.]*|ruby|perl|php)$|[$*?]/;

/** Returns the commands that a shell makes of one for the matches of a glob or the files of a loop; others unchanged. */
function spread(words: readonly string[], loops: ReadonlyMap<string, readonly string[]>, base: string): string[][] {
  if (!RUNS.test(basename(words.find((word) => !WRAPPERS.has(word)) ?? ''))) return [[...words]];
  const matches = (word: string): string[] => {
    if (!/^(?!-)[^$`\0]*[*?][^$`\0]*$/.test(word)) return [word];
    const isMatch = picomatch(basename(word));
    return matches(dirname(word)).flatMap((folder) => {
      const names = ifOutOfReach(() => readdirSync(resolve(base, folder)), []);
      return names.filter((name) => isMatch(name)).map((name) => join(folder, name));
    });
  };
  const variables = words.map((word) => VARIABLE.exec(word)?.[1] ?? '');
  const at = variables.findIndex((name) => loops.has(name));
  const files = loops.get(variables[at] ?? '')?.flatMap(matches);
  const each = files?.map((file) => words.map((word, n) => (n === at ? word.replace(VARIABLE, () => file) : word)));
  return (each ?? [words]).map(([name = '', ...rest]) => [name, ...rest.flatMap(matches)]);
}

/** Returns the folder and its parents up to the project: runners look for programs and settings in each. */
function upward(projectDir: string, folder: string): string[] {
  const above = dirname(folder);
  const isTop = folder === projectDir || !isWithin(projectDir, above);
  return [folder, ...(isTop ? [] : upward(projectDir, above))];
}

/** Folders that package managers and virtual environments put first on the PATH. */
const OWN_PROGRAMS = ['node_modules/.bin', '.venv/bin', 'venv/bin', 'vendor/bin'];

function addPrograms(search: Search, words: readonly string[], base: string, depth: number): void {
  const { projectDir, programs } = search;
  let isStarted = true;
  for (const word of words) {
    if (/^(?:-|\d|\w+=)/.test(word)) continue;
    const name = word.slice(word.lastIndexOf('/') + 1);
    if (/^[\w.+-]+$/.test(word)) {
      for (const folder of upward(projectDir, base))
        for (const own of OWN_PROGRAMS) addFile(search, folder, `${own}/${word}`, depth);
      if (isStarted) programs.add(word);
      if (isStarted && depth > 0) addShadows(search, word, base);
    }
    isStarted &&= WRAPPERS.has(name);
  }
}

/** Pins that nothing precedes the system's program: scripts of a package search `node_modules/.bin` first. */
function addShadows({ projectDir, known, steering }: Search, name: string, base: string): void {
  const path = packageDirectory(projectDir, base) === null ? null : onPath(name, process.env);
  if (path === null || INSTALLED_GLOBALLY.test(realPathOf(path) ?? path)) return;
  for (const folder of upward(projectDir, base)) {
    if (declares(folder, name)) continue; // an installation provides it
    const own = projectPath(projectDir, folder, `node_modules/.bin/${name}`);
    if (own !== null && (known.has(own) || !existsSync(join(projectDir, own)))) steering.set(own, 'pinned');
  }
}

/** Pattern for globally installed programs of packages, which a project may install for itself. */
const INSTALLED_GLOBALLY = /\/(?:node_modules|share\/nodejs)\/(?!(?:npm|corepack)\/)/;

function addSteering(search: Search, words: readonly string[], base: string, depth: number): void {
  const { projectDir, steering, known } = search;
  for (const { key, as } of steeringFiles(base, isData(words) ? words.slice(0, 1) : words)) {
    const [file = '', part] = key.split(/#(.*)/s);
    const path = file.startsWith('~/') ? file : projectPath(projectDir, base, file);
    if (path === null) continue;
    const whole = part === undefined ? path : `${path}#${part}`;
    if (as === 'known' && !known.has(whole)) continue;
    if (part === 'scripts' || part === 'tasks') {
      const texts = words.flatMap((word) => textsAt(projectDir, path, [part, word]));
      for (const text of texts) collect(search, text.replace(/^@(?!php\b)/, `${words[0]} `), base, depth + 1);
    }
    const isThere = as !== 'present' || known.has(whole) || existsSync(join(base, file));
    // If its absence would go unnoticed, it is reported once it appears.
    const found = isThere ? (as === 'present' ? 'pinned' : as) : 'reported';
    if (steering.get(whole) !== 'pinned') steering.set(whole, found);
  }
}

/** Adds the files that a command runs or that configure it, and the executable ones among its other arguments. */
function addFiles(search: Search, given: readonly string[], base: string, depth: number): void {
  const words = given.map((word) => {
    const value = word.replace(/^-[\w-]+=/, '');
    return word.slice(0, word.length - value.length) + value.replace(UNKNOWN_FOLDER, './');
  });
  const [command = ''] = words;
  addFile(search, base, command, depth);
  const { runs, passes } = fileRoles(words, (word) => existsSync(resolve(base, fromHome(word))));
  // A program or script outside the project is pinned like the programs of the PATH.
  for (const word of isData(words) ? [] : [command, ...runs].map(fromHome)) {
    const isPath = word.includes('/') && !/[\0*?$`]/.test(word);
    if (isPath && !isWithin(search.projectDir, resolve(base, word))) search.programs.add(resolve(base, word));
  }
  // Node.js adds an extension.
  for (const word of runs)
    for (const name of [word, `${word}.js`, `${word}/index.js`]) addFile(search, base, name, depth);
  for (const word of passes) {
    if (isRunnable(search.projectDir, base, word)) addFile(search, base, word, depth);
    // A deleted script still belongs to the contract.
    const path = projectPath(search.projectDir, base, word);
    if (path !== null && search.known.has(path)) search.found.add(path);
  }
}

/** Pattern for a folder known only to the shell, taken for the command's folder: `$PWD/check.sh`, `"$(pwd)/check.sh"`. */
const UNKNOWN_FOLDER = /^(?!\$HOME\/|\$\{HOME\}\/).*(?:\$\w+|\}|\)|`)\/(?=[^$`(){}]+$)/s;

function fromHome(word: string): string {
  return word.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/)/, homedir());
}

function isRunnable(projectDir: string, base: string, word: string): boolean {
  const path = word === '' || word.includes('\0') ? null : projectPath(projectDir, base, word);
  if (path === null || !isProjectFile(projectDir, path)) return false;
  const file = join(projectDir, path);
  return ifOutOfReach(
    () => (statSync(file).mode & 0o111) !== 0 || readFileSync(file).subarray(0, 2).toString('latin1') === '#!',
    false,
  ); // unreadable, so not runnable either
}

function addFile(search: Search, base: string, word: string, depth: number): void {
  const { projectDir, known, found } = search;
  if (word === '' || word.length > 1024 || word.includes('\0')) return;
  const path = projectPath(projectDir, base, word);
  if (path === null || /(^|\/)package\.json$/.test(path) || found.has(path)) return;
  if (!known.has(path) && !isProjectFile(projectDir, path)) return;
  found.add(path);
  followShellScript(search, path, base, depth);
}

/** Follows the scripts that a shell script starts, in its working directory or its own (`"$(dirname "$0")/lib.sh"`). */
function followShellScript(search: Search, path: string, directory: string, depth: number): void {
  const text = readRegularFile(join(search.projectDir, path), SCRIPT_BYTES) ?? '';
  // A Makefile is not a script.
  const [, interpreter] = /^#!\s*(\S.*)/.exec(text) ?? [];
  if (interpreter !== undefined) collect(search, interpreter, directory, depth + 1);
  const isShell =
    interpreter === undefined
      ? /(?:^|\/)[^./]+(?<!file)$|\.(?:ba|z|k)?sh$/i.test(path)
      : /\b(?:ba|z|da|k)?sh\b/.test(interpreter);
  if (!isShell || text.includes('\0')) return;
  const parts = text.match(PART) ?? [];
  for (const part of parts) collect(search, part, directory, depth + 1);
  const own = dirname(join(search.projectDir, path));
  for (const words of parts.flatMap((part) => commandWords(part))) {
    const { runs, passes } = fileRoles(words, () => false);
    for (const word of [...words.slice(0, 1), ...runs, ...passes]) {
      if (UNKNOWN_FOLDER.test(word)) addFile(search, own, word.replace(UNKNOWN_FOLDER, ''), depth + 1);
    }
  }
}

function addMakefile(search: Search, words: readonly string[], base: string, depth: number): void {
  const { projectDir, steering } = search;
  const call = isDryRun(words) ? null : makeCall(words, base);
  if (call === null) return;
  const isRead = (file: string): boolean => existsSync(join(call.directory, file)) && !WRITTEN_BY_BUILDS.test(file);
  for (const file of call.files.filter(isRead)) addFile(search, call.directory, file, depth);
  const steer = (names: readonly string[], as: 'pinned' | 'reported'): void => {
    const paths = names.flatMap((name) => projectPath(projectDir, call.directory, name) ?? []);
    for (const path of paths) if (as === 'pinned' || !steering.has(path)) steering.set(path, as);
  };
  steer(call.absent, 'pinned');
  // make runs nothing for a goal that exists as a file, and reads `-include` files once they exist.
  steer(
    [...call.goals, ...call.files].filter((file) => !isRead(file)),
    'reported',
  );
  for (const line of call.recipes) collect(search, line.replace(/^-/, ''), call.directory, depth + 1);
}

/** Pattern for included files that list the headers of sources. */
const WRITTEN_BY_BUILDS = /(?:\.(?:d|dep|P|Plo|Po)|(?:^|\/)\.?depend)$/;

function addPackageScripts(search: Search, words: readonly string[], base: string, depth: number): void {
  const { projectDir } = search;
  const call = packageManagerCall(words);
  if (call?.isForWorkspaces) {
    const directory = packageDirectory(projectDir, base) ?? base;
    for (const path of packagesBelow(projectDir, directory)) {
      for (const script of new Set(call.scripts)) {
        addScript(search, join(projectDir, dirname(path)), script, depth);
        if (words.includes('nx')) addTarget(search, dirname(path), script, depth);
      }
    }
  } else if (call !== null) {
    const directory = packageDirectory(projectDir, resolve(base, call.directory ?? '.'));
    for (const script of call.scripts) {
      if (script.includes(' ')) collect(search, script, base, depth + 1);
      if (directory !== null)
        for (const name of scriptsLike(directory, script)) addScript(search, directory, name, depth);
    }
  }
}

function addScript(search: Search, directory: string, script: string, depth: number): void {
  const { projectDir, known, found, steering } = search;
  const path = projectPath(projectDir, directory, 'package.json');
  if (path === null) return;
  const isThere = packageScript(projectDir, path, script) !== null;
  for (const name of [`pre${script}`, script, `post${script}`]) {
    const key = `${path}#scripts.${name}`;
    const text = packageScript(projectDir, path, name);
    if (text === null && isThere) steering.set(key, 'pinned');
    if (found.has(key) || (text === null && !known.has(key))) continue;
    found.add(key);
    if (text !== null) collect(search, text, directory, depth + 1);
    addShadows(search, 'sh', directory);
  }
}

/** Pins the target of that name in a project's files, which overrides one that nx infers. */
function addTarget(search: Search, folder: string, target: string, depth: number): void {
  const { projectDir, steering } = search;
  steering.set(join(folder, `package.json#nx.targets.${target}`), 'pinned');
  const key = join(folder, `project.json#targets.${target}`);
  if (steering.has(key)) return;
  steering.set(key, 'pinned');
  for (const text of textsAt(projectDir, join(folder, 'project.json'), ['targets', target]))
    collect(search, text, projectDir, depth + 1);
}

/** Returns the nearest folder with a package.json, within the project; null if there is none. */
function packageDirectory(projectDir: string, from: string): string | null {
  const holds = (folder: string): boolean => isWithin(projectDir, folder) && existsSync(join(folder, 'package.json'));
  return upward(projectDir, from).find(holds) ?? null;
}
