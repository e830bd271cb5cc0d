import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ifOutOfReach, readRegularFile } from '../../state/files/regular-file.ts';
import { jsonOrNull } from '../../text/json.ts';

const KEY = /^((?:.*\/)?package\.json)#scripts\.(.+)$/s;

export function splitPackageScriptKey(key: string): { readonly packagePath: string; readonly script: string } | null {
  const [, packagePath, script] = KEY.exec(key) ?? [];
  return packagePath === undefined || script === undefined ? null : { packagePath, script };
}

export function packageScript(projectDir: string, packagePath: string, script: string): string | null {
  return packageScripts(projectDir, packagePath)[script] ?? null;
}

/** Returns the scripts of a package.json by name, without a prototype. */
export function packageScripts(projectDir: string, packagePath: string): Readonly<Record<string, string>> {
  const { scripts } = readPackage(projectDir, packagePath);
  const texts = Object.entries(scripts ?? {}).filter(([, text]) => typeof text === 'string');
  return Object.assign(Object.create(null), Object.fromEntries(texts)) as Record<string, string>;
}

/** Reads a package.json; empty if it is missing or invalid, which the command itself reports. */
export function readPackage(projectDir: string, packagePath: string): { readonly [key: string]: unknown } {
  const read = jsonOrNull(readRegularFile(join(projectDir, packagePath)) ?? '');
  return typeof read === 'object' ? { ...read } : {};
}

const MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
/** Programs whose operands are scripts, patterns of scripts or commands; without operands, or after `run`, the word is a script's name. */
const SCRIPT_RUNNERS = /^(?:npm-run-all2?|run-[sp]|conc(?:urrently)?)$/;
/** Options that run a script in several packages. */
const TASK_RUNNERS = new Set(['turbo', 'nx', 'lerna', 'rush', 'wireit', 'moon']);
const DIRECTORY_OPTIONS = new Set(['--prefix', '-C', '--dir', '--cwd']);
const VALUE_OPTIONS = new Set(['--loglevel', '--script-shell']);
const IN_WORKSPACES = /^(?:-ws?|-r|-F|--workspaces?|--recursive|--filter|workspaces?)(?:=|$)/;
const RUN = new Set(['run', 'run-script', 'rum', 'urn']);

/**
 * Returns the package.json scripts that a command runs, also through wrappers such as `env`, or patterns and whole commands
 * that lead to them; for workspaces, every possible name.
 */
export function packageManagerCall(words: readonly string[]) {
  const runner = words.findIndex(
    (word, at) =>
      (SCRIPT_RUNNERS.test(word) && !RUN.has(words[at - 1] ?? '')) || (word === '--run' && words[at - 1] === 'node'),
  );
  if (runner !== -1 && runner < words.length - 1) {
    const scripts = words.slice(runner + 1).map((word) => word.replace(/^(?:npm|pnpm|yarn|bun|node):/, ''));
    return { directory: null, scripts, isForWorkspaces: false };
  }
  const at = words.findIndex((word) => MANAGERS.has(word) || TASK_RUNNERS.has(word));
  if (at === -1) return null;
  const [manager = '', ...all] = words.slice(at);
  const rest = all.includes('--') ? all.slice(0, all.indexOf('--')) : all;
  if (TASK_RUNNERS.has(manager) || rest.some((word) => IN_WORKSPACES.test(word))) {
    const scripts = rest.flatMap((word) => [word, ...word.split(/[:=,]/)]).filter((word) => /^\w/.test(word));
    return {
      directory: null,
      scripts: scripts.map((word) => word.replace(/^(?:t|tst)$/, 'test')),
      isForWorkspaces: true,
    };
  }
  let directory: string | null = null;
  const names: string[] = [];
  for (let index = 0; index < rest.length && names.length < 2; index++) {
    const word = rest[index] ?? '';
    const [option = '', value] = word.split('=', 2);
    if (DIRECTORY_OPTIONS.has(option)) directory = value ?? rest[++index] ?? null;
    else if (VALUE_OPTIONS.has(word)) index += 1;
    else if (!word.startsWith('-')) names.push(word);
  }
  const script = scriptName(manager, names);
  return script === null ? null : { directory, scripts: [script], isForWorkspaces: false };
}

/** Scripts that npm runs without `run`; any other word may be a command of the package manager itself. */
const BARE = /^(?:run.*|t|tst|test|start|stop|restart)$/;

/** Returns the one script that a call certainly runs; null if it may run another, of any package, or a command. */
export function scriptCall(words: readonly string[]) {
  const { scripts: [script = ''] = [], directory, isForWorkspaces } = packageManagerCall(words) ?? {};
  const isOne = words.some((word) => BARE.test(word)) && !isForWorkspaces && !/^$|[\s*]|^-/.test(script);
  return isOne ? { script, directory: directory ?? null } : null;
}

/** Returns the names of a folder's scripts that `test`, `test -- ARGUMENTS` or a pattern such as `test:*` matches. */
export function scriptsLike(directory: string, operand: string): string[] {
  const word = operand.replace(/\s.*$/s, '');
  if (!word.includes('*')) return [word];
  const pattern = new RegExp(`^${word.replace(/[^\w*]/g, '\\$&').replace(/\*+/g, '.*')}$`);
  return Object.keys(packageScripts(directory, 'package.json')).filter((name) => pattern.test(name));
}

const MOST_DEPTH = 5;

/** Paths of the package.json files in a folder and below it, and of nx's project.json files, relative to the project. */
export function packagesBelow(projectDir: string, directory: string, depth = 0): string[] {
  return ifOutOfReach(() => readdirSync(directory, { withFileTypes: true }), []).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (/^(?:package|project)\.json$/.test(entry.name)) return [relative(projectDir, path)];
    const isEntered = entry.isDirectory() && depth < MOST_DEPTH && !/^(?:\.|node_modules$)/.test(entry.name);
    return isEntered ? packagesBelow(projectDir, path, depth + 1) : [];
  });
}

/** Returns the texts at two nested keys of a JSON file, such as the commands of an nx target or a composer script. */
export function textsAt(projectDir: string, path: string, [outer, inner]: readonly [string, string]): string[] {
  const texts: string[] = [];
  const found = readPackage(projectDir, path)[outer] as Readonly<Record<string, unknown>> | undefined;
  JSON.stringify(found?.[inner], (_, value) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts;
}

function scriptName(manager: string, [command, next]: readonly string[]): string | null {
  if (command === undefined) return null;
  if (RUN.has(command)) return next ?? null;
  if (manager === 'bun') return null; // `bun test` is bun's own runner
  if (command === 't' || command === 'tst') return 'test';
  return command;
}
