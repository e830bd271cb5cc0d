import { readFileSync, realpathSync, statSync } from 'node:fs';
import type { Contract } from '../../engine/schema/contract.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { onPath } from '../../state/process/find-program.ts';
import { orElse } from '../../text/or-else.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Programs = NonNullable<Contract['programs']>;

/** Finds and hashes the files that program names stand for. A name that is not found, as that of a shell builtin, is null. */
export function pinPrograms(names: readonly string[], env: Environment): Programs {
  return Object.fromEntries(names.map((name) => [name, pinProgram(name, env)]));
}

function pinProgram(name: string, env: Environment): Programs[string] {
  const path = onPath(name, env);
  // closed to us
  return orElse(() => (path === null ? null : { path, stat: statOf(path), sha256: sha256(readFileSync(path)) }), null);
}

/** Returns what differs: another file stands for the name, or its content changed. */
export function changedPrograms(
  { programs = {}, environment }: Partial<Pick<Contract, 'programs' | 'environment'>>,
  names: Iterable<string>,
  env: Environment,
): string[] {
  const found = { ...env, ...environment };
  return [...names].flatMap((name) => {
    const pinned = programs[name];
    const path = pinned ? onPath(name, found) : null;
    if (!pinned) return [];
    if (path === null) return [`the program ${name} (${pinned.path}) is gone`];
    if (path !== pinned.path) return [`the program ${name} is ${path} instead of ${pinned.path} and was changed so`];
    // The time of the last change of a file cannot be set back, so that a large program is not read again.
    const isSame = orElse(() => statOf(path) === pinned.stat || sha256(readFileSync(path)) === pinned.sha256, false);
    return isSame ? [] : [`the program ${name} (${path}) was changed`];
  });
}

/** Returns the programs that did not exist at the start and do now. */
export function newPrograms({ programs = {}, environment }: Partial<Contract>, env: Environment): string[] {
  return Object.entries(programs).flatMap(([name, pinned]) => {
    const path = pinned === null ? onPath(name, { ...env, ...environment }) : null;
    return path === null ? [] : [`the program ${name} (${path}) was added`];
  });
}

function statOf(path: string): string {
  const { size, mtimeMs, ctimeMs, ino } = statSync(path);
  return `${realpathSync(path)} ${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}
