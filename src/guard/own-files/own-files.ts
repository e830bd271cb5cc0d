import { lstatSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import { comparableForms, comparablePath } from '../comparable-path.ts';
import { type Guard, holds, isInside, type ProtectedPath } from '../guard.ts';

/** Returns the protected path that writing to this file changes; undefined if there is none. */
export function hitByWrite(path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  const forms = formsOf(path, cwd, guard);
  return (
    guard.own.find((entry) => forms.some((form) => isInside(form, entry))) ??
    forms.map((form) => ownByName(form, guard)).find((entry) => entry !== undefined) ??
    hardLinkOf(absolutePath(path, cwd), guard.own)
  );
}

/** Returns the protected path affected by removing or moving this path: itself and, with `recursive`, everything below it. */
export function hitByRemoval(path: string, cwd: string, recursive: boolean, guard: Guard): ProtectedPath | undefined {
  const absolute = absolutePath(path, cwd);
  const cut = absolute.replace(/\/+$/, '') || '/';
  // Removing a symlink does not touch its target: its parent is resolved, but not the link itself.
  const isDots = /^\.\.?$/.test(basename(cut));
  const real = isDots || cut !== absolute ? guard.real(absolute) : join(guard.real(dirname(cut)), basename(cut));
  const forms = [absolute, real].map((each) => comparablePath(each, guard.rules.caseInsensitive));
  const inside = guard.own.find((entry) => forms.some((form) => isInside(form, entry)));
  if (inside !== undefined) return inside;
  const holding = guard.own.find((entry) => forms.some((form) => holds(form, entry)));
  if (holding === undefined || recursive) return holding;
  return lstatSync(cut, { throwIfNoEntry: false })?.isSymbolicLink() === true ? holding : undefined;
}

/** Returns a protected path at or below this directory. */
export function hitByTree(path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  const forms = formsOf(path, cwd, guard);
  return guard.own.find((entry) => forms.some((form) => isInside(form, entry) || holds(form, entry)));
}

/** Returns a protected path at or below a directory inside the project; undefined for other directories. */
export function hitByTreeBelow(path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  return isBelowProject(path, cwd, guard) ? hitByTree(path, cwd, guard) : undefined;
}

/** Returns whether a path is strictly below the project: naming it means more than "everything here". */
export function isBelowProject(path: string, cwd: string, guard: Guard): boolean {
  return formsOf(path, cwd, guard).some((form) => guard.project.some((project) => form.startsWith(`${project}/`)));
}

export function absolutePath(path: string, cwd: string): string {
  return isAbsolute(path) ? path : `${cwd}/${path}`;
}

export function formsOf(path: string, cwd: string, guard: Guard): string[] {
  return comparableForms(absolutePath(path, cwd), guard.rules.caseInsensitive, guard.real);
}

/** Returns the own file that this (comparable) path would be by its name, even if its folder does not exist yet. */
export function ownByName(
  path: string,
  { rules: { ownNames = [], caseInsensitive }, real }: Guard,
): ProtectedPath | undefined {
  const own = ownNames.find(({ dir, name }) =>
    [dir, real(dir)].some(
      (each) => path.startsWith(`${comparablePath(each, caseInsensitive)}/`) && path.endsWith(`/${name}`),
    ),
  );
  return own === undefined ? undefined : { path, prefix: false, label: path };
}

/** Returns another name (hard link) of a protected file. A target with a single name, the usual case, needs only one stat. */
function hardLinkOf(target: string, entries: readonly ProtectedPath[]): ProtectedPath | undefined {
  const statOf = (path: string): Stats | undefined =>
    ifOutOfReach(() => statSync(path, { throwIfNoEntry: false }), undefined);
  const stat = statOf(target);
  if (stat === undefined || !stat.isFile() || stat.nlink < 2) return undefined;
  return entries.find((entry) => {
    if (entry.prefix) return false;
    const own = statOf(entry.path);
    return own !== undefined && own.ino === stat.ino && own.dev === stat.dev;
  });
}

export function shownPath(entry: ProtectedPath, guard: Guard): string {
  const { projectDir } = guard.rules;
  return entry.label.startsWith(`${projectDir}/`) ? entry.label.slice(projectDir.length + 1) : entry.label;
}
