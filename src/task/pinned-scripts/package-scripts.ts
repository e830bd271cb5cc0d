import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regularFile } from '../../state/files/read-regular-file.ts';

const KEY = /^((?:.*\/)?package\.json)#scripts\.(.+)$/s;

export function packageScriptKey(packagePath: string, script: string): string {
  return `${packagePath}#scripts.${script}`;
}

export function splitPackageScriptKey(key: string): { readonly packagePath: string; readonly script: string } | null {
  const [, packagePath, script] = KEY.exec(key) ?? [];
  return packagePath === undefined || script === undefined ? null : { packagePath, script };
}

export function packageScript(projectDir: string, packagePath: string, script: string): string | null {
  try {
    const { scripts } = JSON.parse(readFileSync(regularFile(join(projectDir, packagePath)), 'utf8')) as {
      scripts?: unknown;
    };
    if (typeof scripts !== 'object' || scripts === null || !Object.hasOwn(scripts, script)) return null;
    const text = (scripts as Record<string, unknown>)[script];
    return typeof text === 'string' ? text : null;
  } catch {
    return null; // no such file, or no JSON: the command itself will say so
  }
}

export interface PackageManagerCall {
  readonly directory: string | null;
  readonly script: string;
}

const MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const DIRECTORY_OPTIONS = new Set(['--prefix', '-C', '--dir', '--cwd']);
const VALUE_OPTIONS = new Set(['-w', '--workspace', '--filter', '-F', '--loglevel', '--script-shell']);
const RUN = new Set(['run', 'run-script', 'rum', 'urn']);

/** The package.json script that a command runs, through wrappers such as `env` and `timeout`; or null. */
export function packageManagerCall(words: readonly string[]): PackageManagerCall | null {
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
