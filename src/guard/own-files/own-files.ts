import { existsSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, posix } from 'node:path';
import { ifOutOfReach, isFolder } from '../../state/files/regular-file.ts';
import { comparableForms, comparablePath } from '../comparable-path.ts';
import { type Guard, holds, isInside, ownByName, type ProtectedPath } from '../guard.ts';
import { matchesGlob } from '../shell/glob.ts';
import { type SearchedTree, UNKNOWN } from '../shell/shell-reading.ts';

const MAX_FILES = 5000;

/** Returns the existing guarded files, each with its entry; `near` limits them to entries at, below or above this path. */
export function ownPaths(guard: Guard, near = '/'): Array<{ readonly path: string; readonly entry: ProtectedPath }> {
  const isNear = ({ path }: ProtectedPath): boolean =>
    near === '/' || path === near || path.startsWith(`${near}/`) || near.startsWith(`${path}/`);
  return guard.own.filter(isNear).flatMap((entry) => {
    const folder = entry.prefix ? dirname(entry.path) : entry.path;
    const below = isFolder(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    const paths = below.slice(0, MAX_FILES).map((name) => join(folder, name));
    const itself = entry.prefix ? `${entry.path}.json` : entry.path;
    return [itself, ...paths.filter((path) => isInside(path, entry))].map((path) => ({ path, entry }));
  });
}

/** Returns the protected path that writing to this file changes; undefined if there is none. */
export function hitByWrite(path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  const forms = formsOf(path, cwd, guard);
  return (
    guard.own.find((entry) => forms.some((form) => isInside(form, entry))) ??
    forms.map((form) => ownByName(form, guard)).find((entry) => entry !== undefined) ??
    hardLinkOf(absolutePath(path, cwd), guard.own)
  );
}

/** Returns the protected path that removing or moving this path affects: itself and, with `recursive`, everything below it. */
export function hitByRemoval(path: string, cwd: string, recursive: boolean, guard: Guard): ProtectedPath | undefined {
  const absolute = absolutePath(path, cwd);
  const cut = absolute.replace(/\/+$/, '') || '/';
  // Removing a symlink does not touch its target: the path to the entry is resolved, but not the entry.
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

/** Returns the protected path overwritten by copying a directory's content, if the source has a file in its place. */
export function hitByCopy(from: string, path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  const forms = formsOf(path, cwd, guard);
  const source = absolutePath(from, cwd);
  const [brought] = (guard.rules.ownNames ?? []).flatMap(({ name }) => {
    return (existsSync(join(source, name)) ? ownByName(`${forms[0] ?? ''}/${name}`, guard) : undefined) ?? [];
  });
  if (brought !== undefined) return brought;
  return guard.own.find((entry) =>
    forms.some((form) => {
      if (isInside(form, entry)) return true;
      return holds(form, entry) && existsSync(join(source, entry.path.slice(form === '/' ? 1 : form.length + 1)));
    }),
  );
}

/** Returns the protected files directly in a directory, unless it is the project, the home or above them. */
export function ownFilesIn(path: string, cwd: string, guard: Guard): readonly ProtectedPath[] {
  const forms = formsOf(path, cwd, guard);
  const { home, caseInsensitive } = guard.rules;
  const shared = [...guard.project, comparablePath(home, caseInsensitive)];
  const own = forms.filter((form) => !shared.some((each) => each === form || each.startsWith(`${form}/`)));
  return guard.own.filter((entry) => own.includes(dirname(entry.path)));
}

/** Returns whether a path is strictly below the project: naming it means more than "everything here". */
export function isBelowProject(path: string, cwd: string, guard: Guard): boolean {
  return formsOf(path, cwd, guard).some((form) => guard.project.some((project) => form.startsWith(`${project}/`)));
}

export function absolutePath(path: string, cwd: string): string {
  return isAbsolute(path) ? path : `${cwd}/${path}`;
}

function formsOf(path: string, cwd: string, guard: Guard): string[] {
  return comparableForms(absolutePath(path, cwd), guard.rules.caseInsensitive, guard.real);
}

/** Returns another name (hard link) of a protected file. Needs one stat for a target with a single name, as nearly all have. */
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

/** Maximum number of file names that one glob is matched against; beyond it the pattern alone decides. */
const MAX_NAMES = 2000;

/** Returns the protected path that a glob could match as the target of a write or (with `removes`) of a removal. */
export function hitByGlob(pattern: string, cwd: string, removes: boolean, guard: Guard): ProtectedPath | undefined {
  const matches = globMatcher(pattern, cwd, removes, false, guard.rules.caseInsensitive);
  const byName = guard.own.find(({ path, prefix }) => matches(prefix ? `${path}.json` : path));
  if (byName !== undefined) return byName;
  // Symlinks: an existing match may be a protected file under another name.
  let left = MAX_NAMES;
  for (const path of globbedPaths(pattern, cwd, () => left-- > 0)) {
    const hit = removes ? hitByRemoval(path, '/', true, guard) : hitByWrite(path, '/', guard);
    if (hit !== undefined) return hit;
  }
  return undefined;
}

export function globbedPaths(pattern: string, cwd: string, take: () => boolean): string[] {
  return expand(segmentsOf(pattern, cwd), take);
}

function segmentsOf(pattern: string, cwd: string): string[] {
  const full = isAbsolute(pattern) ? pattern : `${cwd}/${pattern}`;
  return normalize(full).split('/').filter(Boolean);
}

/** Tells which paths a glob matches; `isOdd`: by unusual settings of the shell dots, case and `**` match whatever they can. */
export function globMatcher(pattern: string, cwd: string, removes: boolean, isOdd: boolean, folds = true) {
  const matches = (segments: readonly string[], names: readonly string[]): boolean => {
    const [first, ...rest] = segments;
    const [name] = names;
    if (first === undefined) return removes || name === undefined;
    if (isOdd && first === '**') return names.some((_, at) => matches(rest, names.slice(at))) || rest.length === 0;
    // Below a folder that is kept lies nothing else.
    if (name === undefined) return !isOdd;
    return (isOdd ? matchesGlob : matchesSegment)(first, name, folds) && matches(rest, names.slice(1));
  };
  const wanted = segmentsOf(pattern, cwd);
  return (path: string): boolean => matches(wanted, path.split('/').filter(Boolean));
}

/** Matches like the shell: only a dot matches a leading dot. */
function matchesSegment(pattern: string, name: string, caseInsensitive: boolean): boolean {
  if (name.startsWith('.') && !/^\\?\.|^\[/.test(pattern)) return false;
  return matchesGlob(pattern, name, caseInsensitive);
}

function expand(segments: readonly string[], take: () => boolean): string[] {
  let directories = [''];
  for (const segment of segments) {
    const next: string[] = [];
    for (const directory of directories) {
      if (!/[*?[(\0]/.test(segment.replace(/\\./g, ''))) {
        next.push(`${directory}/${segment.replace(/\\(.)/g, '$1')}`);
        continue;
      }
      for (const name of ifOutOfReach(() => readdirSync(directory === '' ? '/' : directory), [])) {
        if (!take()) return [];
        if (matchesSegment(segment, name, false)) next.push(`${directory}/${name}`);
      }
    }
    directories = next;
  }
  return directories;
}

/** Returns whether this search finds the path, or a folder above it: below one of its roots, by its conditions. */
export function searchFinds(under: SearchedTree, path: string, guard: Guard): boolean {
  const { caseInsensitive } = guard.rules;
  const { names, except = [], maxDepth = Number.POSITIVE_INFINITY } = under;
  const isLeftOut = (found: string): boolean => except.some((glob) => matchesGlob(glob, found, caseInsensitive));
  return under.roots.some((root) => {
    if (root.includes(UNKNOWN)) return false;
    return [posix.normalize(root), guard.real(root)].some((form) => {
      const directory = comparablePath(form, caseInsensitive);
      const above = directory === '/' ? '' : directory;
      // A search inside a protected directory finds only protected files.
      if (path !== directory && !path.startsWith(`${above}/`)) return directory.startsWith(`${path}/`);
      const below = path.slice(above.length).split('/').filter(Boolean);
      if (under.visible === true && below.some((name) => name.startsWith('.'))) return false;
      if (below.length === 0) below.push(path.slice(path.lastIndexOf('/') + 1));
      return below.some((name, index) => {
        const found = `${above}/${below.slice(0, index + 1).join('/')}`;
        if (index >= maxDepth || (under.filesOnly === true && index < below.length - 1) || isLeftOut(found))
          return false;
        return names.length === 0 || names.some((glob) => matchesGlob(glob, name, caseInsensitive));
      });
    });
  });
}
