import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import picomatch from 'picomatch';
import { parse as parseToml } from 'smol-toml';
import type { CommandDefinition, Contract } from '../../engine/schema/contract.ts';
import { readRegularFile, regularFile } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { configFolder } from '../../state/home-folder.ts';
import { versionAt } from '../../state/snapshot/version.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import { isProjectFile } from '../project-file.ts';
import { type Pins, pinsOf } from './named-scripts.ts';
import { packageScript, splitPackageScriptKey } from './package-scripts.ts';

type Terms = Pick<Contract, 'projectDir' | 'taskPath' | 'task'> & {
  readonly validation: readonly Pick<CommandDefinition, 'run'>[];
  readonly policy: Pick<Contract['policy'], 'maxIterations'>;
  readonly mayChange?: readonly string[] | undefined;
  readonly verifyIn?: Contract['verifyIn'];
};

/** Hash of a file whose absence is pinned. */
export const ABSENT = 'absent';
/** Hash of what a runner may read and this program does not: a folder, a device, a link out of the project. */
const UNREAD = 'unread';

const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Pins the files that the validation and task commands rely on, in any iteration: hashes by key, a path, `PATH#PART` of a structured
 * file, or `~/PATH`. Those of `watched` may change; the end report names them.
 */
export function contractPins(terms: Terms) {
  const { projectDir, task, mayChange = [], verifyIn } = terms;
  const setup = verifyIn?.setup ?? null;
  const found: Pins[] = [...terms.validation.map(({ run }) => run), ...(setup === null ? [] : [setup])].map((run) =>
    pinsOf(projectDir, run),
  );
  for (const command of task?.commands ?? []) {
    const runs = new Map<string, string>();
    for (let iteration = 1; iteration <= terms.policy.maxIterations; iteration++) {
      const { run, directory } = taskCommand(terms, projectDir, command, iteration);
      runs.set(run, directory); // the same unless it contains the iteration's number
    }
    for (const [run, directory] of runs) found.push(pinsOf(projectDir, run, new Set(), directory));
  }
  const isFree = picomatch([...mayChange], { dot: true });
  const [scripts, watched]: [Record<string, string>, Record<string, string>] = [{}, {}];
  const steering = found.flatMap((pins) => [...pins.steering]);
  const pinned = new Set(steering.flatMap(([key, as]) => (as === 'pinned' ? [key] : [])));
  const named = new Set(found.flatMap((pins) => [...pins.scripts]));
  for (const key of [...new Set([...named, ...steering.map(([key]) => key)])].toSorted()) {
    const hash = scriptHash(projectDir, key);
    const path = key.replace(/#.*$/s, '');
    if (isFree(path) || !(pinned.has(key) || named.has(key))) watched[key] = hash ?? ABSENT;
    else if ((hash !== null && hash !== UNREAD) || pinned.has(key)) scripts[key] = hash ?? ABSENT;
  }
  return { scripts, watched, programs: [...new Set(found.flatMap((pins) => [...pins.programs]))].toSorted() };
}

/** Hashes all project files that the commands name, by relative path; skips missing ones. */
export function scriptsOf(terms: Terms): Record<string, string> {
  return Object.fromEntries(Object.entries(contractPins(terms).scripts).filter(([, hash]) => hash !== ABSENT));
}

export function changedScripts(
  contract: Pick<Contract, 'scripts'>,
  projectDir: string,
  keys: readonly string[] = Object.keys(contract.scripts),
): { readonly key: string; readonly what: string }[] {
  return keys.flatMap((key) => {
    const expected = contract.scripts[key];
    if (expected === undefined) return [];
    const hash = scriptHash(projectDir, key);
    if ((hash ?? ABSENT) === expected) return [];
    const how = hash === null ? 'was removed' : expected === ABSENT ? 'was added' : 'was changed';
    return [{ key, what: `${key} ${how}` }];
  });
}

/** Returns the inode and change time of each of these files of the project, by its key; neither can be set back. */
export function writtenAt(keys: readonly string[], projectDir: string): ReadonlyMap<string, string> {
  const timeOf = (key: string) => statSync(join(projectDir, key), { throwIfNoEntry: false });
  const files = keys.filter((key) => !/#|^~/.test(key));
  return new Map(files.map((key) => [key, `${timeOf(key)?.ino} ${timeOf(key)?.ctimeMs}`]));
}

const PART = /^(.*(?:\.json|\.toml|\.cfg|\.ini|\.npmrc))#(.+)$/s;

/** Returns the SHA-256 of the content named by a key; null if it is missing. */
function scriptHash(projectDir: string, key: string): string | null {
  const inPackage = splitPackageScriptKey(key);
  if (inPackage !== null) {
    const text = packageScript(projectDir, inPackage.packagePath, inPackage.script);
    return text === null ? null : sha256(text);
  }
  const [, file = key, part] = PART.exec(key) ?? [];
  const isHome = file.startsWith('~/');
  const inConfig = file.startsWith('~/.config/') ? join(configFolder(), file.slice('~/.config/'.length)) : null;
  const path = inConfig ?? (isHome ? join(homedir(), file.slice(2)) : join(projectDir, file));
  try {
    if (!isHome && !isProjectFile(projectDir, file)) throw new Error(`${file} is not a file of the project`);
    if (part === undefined) {
      const version = versionAt(realpathSync(path));
      return version?.kind === 'file' && version.hash !== '' ? version.hash : UNREAD;
    }
    const text = partOf(file, readFileSync(regularFile(path, MOST_BYTES), 'utf8'), part);
    return text === null ? null : sha256(text);
  } catch {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : UNREAD;
  }
}

/** Returns the text of the project named by a key; empty if there is none. */
export function textAt(projectDir: string, key: string): string {
  const [, file = key, part] = PART.exec(key) ?? [];
  const text = isProjectFile(projectDir, file) ? (readRegularFile(join(projectDir, file), MOST_BYTES) ?? '') : '';
  return part === undefined ? text : (partOf(file, text, part) ?? '');
}

/** Pattern for lines of an .npmrc that decide which program runs a script, and how; no registries, credentials or versions. */
const NPMRC =
  /^(?:script-shell|shell|shell-emulator|node-options|ignore-scripts|enable-pre-post-scripts|if-present|prefix|workspaces?|workspace-root|include-workspace-root|userconfig|globalconfig)(?:\[\])?\s*(?:=|$)/i;

/**
 * Returns part of a structured file as text for comparison: the value at a path of keys in JSON and TOML, the lines of a
 * section in an INI file, or the settings of an .npmrc that affect scripts; null if the part is absent. A file that cannot
 * be parsed is compared as a whole.
 */
function partOf(path: string, text: string, part: string): string | null {
  if (path.endsWith('.npmrc')) return lines(text, (line) => NPMRC.test(line));
  if (/\.(?:cfg|ini)$/.test(path)) return section(text, part);
  try {
    const parsed: unknown = path.endsWith('.toml') ? parseToml(text) : JSON.parse(text);
    const value = valueAt(parsed, part.split('.'));
    return value === undefined ? null : JSON.stringify(value, sortedKeys);
  } catch {
    return text;
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return valueAt((value as Record<string, unknown>)[key], rest);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function section(text: string, name: string): string | null {
  let inside = false;
  return lines(text, (line) => {
    const header = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (header !== undefined)
      inside = name.endsWith('*') ? header.startsWith(name.slice(0, -1)) : header.trim() === name;
    return inside && header === undefined;
  });
}

function lines(text: string, counts: (line: string) => boolean): string | null {
  const found = text.split(/\r?\n/).filter((line) => counts(line) && !/^\s*(?:[#;]|$)/.test(line));
  return found.length === 0 ? null : found.map((line) => line.trimEnd()).join('\n');
}
