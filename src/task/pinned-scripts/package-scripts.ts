import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regularFile } from '../../state/files/regular-file.ts';
import { orElse } from '../../text/or-else.ts';

const KEY = /^((?:.*\/)?package\.json)#scripts\.(.+)$/s;

export function packageScriptKey(packagePath: string, script: string): string {
  return `${packagePath}#scripts.${script}`;
}

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

/** Reads a package.json; empty if it is missing or invalid, because the command itself reports that. */
export function readPackage(projectDir: string, packagePath: string): { readonly [key: string]: unknown } {
  const read = orElse(() => JSON.parse(readFileSync(regularFile(join(projectDir, packagePath)), 'utf8')), null);
  return typeof read === 'object' ? { ...read } : {};
}

export function makeTargets(text: string): ReadonlySet<string> {
  const rules = [...text.matchAll(/^([\w.\-/ ]{1,200}):(?!=)/gm)];
  return new Set(rules.flatMap(([, names = '']) => names.trim().split(/ +/)));
}

const MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const DIRECTORY_OPTIONS = new Set(['--prefix', '-C', '--dir', '--cwd']);
const VALUE_OPTIONS = new Set(['-w', '--workspace', '--filter', '-F', '--loglevel', '--script-shell']);
const RUN = new Set(['run', 'run-script', 'rum', 'urn']);

/** Returns the package.json script that a command runs, through wrappers such as `env` and `timeout`; or null. */
export function packageManagerCall(
  words: readonly string[],
): { readonly directory: string | null; readonly script: string } | null {
  const at = words.findIndex((word) => MANAGERS.has(word));
  if (at === -1) return null;
  let directory: string | null = null;
  const names: string[] = [];
  for (let index = at + 1; index < words.length && names.length < 2; index++) {
    const word = words[index] ?? '';
    const [option = '', value] = word.split('=', 2);
    if (word === '--') break;
    if (DIRECTORY_OPTIONS.has(option)) directory = value ?? words[++index] ?? null;
    else if (VALUE_OPTIONS.has(word)) index += 1;
    else if (!word.startsWith('-')) names.push(word);
  }
  const script = scriptName(words[at] ?? '', names);
  return script === null ? null : { directory, script };
}

function scriptName(manager: string, [command, next]: readonly string[]): string | null {
  if (command === undefined) return null;
  if (RUN.has(command)) return next ?? null;
  if (manager === 'bun') return null; // `bun test` is bun's own runner
  if (command === 't' || command === 'tst') return 'test';
  return command;
}
