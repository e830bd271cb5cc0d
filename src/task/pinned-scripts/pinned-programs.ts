import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import type { Contract } from '../../engine/schema/contract.ts';
import { ifOutOfReach, isFolder } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { onPath } from '../../state/process/find-program.ts';

type Programs = NonNullable<Contract['programs']>;

/** Finds and hashes the files that program names refer to. A name that is not found, such as a shell builtin, is null. */
export function pinPrograms(names: readonly string[], env: NodeJS.ProcessEnv): Programs {
  return Object.fromEntries(names.map((name) => [name, pinProgram(name, env)]));
}

/** Finds a name on the PATH; a path stands for itself. A folder counts as missing: its files are not examined. */
function find(name: string, env: NodeJS.ProcessEnv): string | null {
  return name.includes('/') ? (existsSync(name) && !isFolder(name) ? name : null) : onPath(name, env);
}

function pinProgram(name: string, env: NodeJS.ProcessEnv): Programs[string] {
  const path = find(name, env);
  if (path === null) return null;
  return ifOutOfReach(() => ({ path, stat: statOf(path), sha256: hashOf(path) ?? 'unreadable' }), null);
}

/** Returns the differences: the name refers to another file, or its content changed. */
export function changedPrograms(
  { programs = {}, environment }: Partial<Pick<Contract, 'programs' | 'environment'>>,
  names: Iterable<string>,
  env: NodeJS.ProcessEnv,
): string[] {
  const found = { ...env, ...environment };
  return [...names].flatMap((name) => {
    const pinned = programs[name];
    const path = pinned ? find(name, found) : null;
    if (!pinned) return [];
    if (path === null) return [`the program ${name} (${pinned.path}) was removed`];
    if (path !== pinned.path) return [`the program ${name} (${pinned.path}) was replaced by ${path}`];
    // The time of a file's last change cannot be set back, so a large program need not be read again.
    const isSame = ifOutOfReach(() => statOf(path) === pinned.stat || hashOf(path) === pinned.sha256, false);
    return isSame ? [] : [`the program ${name} (${path}) was changed`];
  });
}

export function newPrograms({ programs = {}, environment }: Partial<Contract>, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(programs).flatMap(([name, pinned]) => {
    const path = pinned === null ? find(name, { ...env, ...environment }) : null;
    return path === null ? [] : [`the program ${name} (${path}) was added`];
  });
}

/** Hashes a program; null if it may be run but not read: then only its stats are compared. */
function hashOf(path: string): string | null {
  return ifOutOfReach(() => sha256(readFileSync(path)), null);
}

function statOf(path: string): string {
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  return `${realpathSync(path)} ${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}
