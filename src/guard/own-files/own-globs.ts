import { existsSync, readdirSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, posix } from 'node:path';
import { ifOutOfReach, isFolder } from '../../state/files/regular-file.ts';
import { comparablePath } from '../comparable-path.ts';
import { type Guard, holds, isInside, type ProtectedPath } from '../guard.ts';
import { matchesGlob } from '../shell/glob.ts';
import { type SearchedTree, UNKNOWN } from '../shell/shell-reading.ts';
import { absolutePath, formsOf, hitByRemoval, hitByWrite, ownByName } from './own-files.ts';

const MAX_FILES = 5000;

/** Returns the existing guarded files, each with its entry; `near` limits them to entries at, below or above this path. */
export function ownPaths(guard: Guard, near = '/'): Array<{ readonly path: string; readonly entry: ProtectedPath }> {
  const close = guard.own.filter((entry) => isInside(near, entry) || holds(near, entry));
  return close.flatMap((entry) => {
    const folder = entry.prefix ? dirname(entry.path) : entry.path;
    const below = isFolder(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    const paths = below.slice(0, MAX_FILES).map((name) => join(folder, name));
    const itself = entry.prefix ? `${entry.path}.json` : entry.path;
    return [itself, ...paths.filter((path) => isInside(path, entry))].map((path) => ({ path, entry }));
  });
}

/** Returns the protected path overwritten by copying a directory's content, if the source has a file in its place. */
export function hitByCopy(from: string, path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  const forms = formsOf(path, cwd, guard);
  const source = absolutePath(from, cwd);
  const [brought] = (guard.rules.ownNames ?? []).flatMap(
    ({ name }) => (existsSync(join(source, name)) ? ownByName(`${forms[0] ?? ''}/${name}`, guard) : undefined) ?? [],
  );
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

/** Maximum number of file names that one glob is matched against; beyond it the pattern alone decides. */
export const MAX_NAMES = 2000;

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
        const path = `${directory}/${segment.replace(/\\(.)/g, '$1')}`;
        // `*/dist` means the folders that have it.
        if (directories.length === 1 || existsSync(path)) next.push(path);
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

/** Returns what the globs of a search are now. */
export function globbedRoots({ globs = [] }: SearchedTree, take: () => boolean): string[] {
  return globs.flatMap((glob) => {
    const paths = globbedPaths(glob, '/', take);
    return glob.endsWith('/') ? paths.filter((path) => isFolder(path)) : paths;
  });
}

/** Returns whether this search finds the path, or a folder above it: below one of its roots, by its conditions. */
export function searchFinds(under: SearchedTree, path: string, guard: Guard): boolean {
  const { caseInsensitive } = guard.rules;
  const { names, except = [], maxDepth = Number.POSITIVE_INFINITY } = under;
  // What is left out anywhere is a name below the root: the folders that the project lies in do not count.
  const isLeftOut = (above: string, below: string): boolean =>
    except.some((glob) => matchesGlob(glob, glob.startsWith('*/') ? below : above + below, caseInsensitive));
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
        const found = `/${below.slice(0, index + 1).join('/')}`;
        if (index >= maxDepth || (under.filesOnly === true && index < below.length - 1)) return false;
        if (isLeftOut(above, found)) return false;
        return names.length === 0 || names.some((glob) => matchesGlob(glob, name, caseInsensitive));
      });
    });
  });
}
