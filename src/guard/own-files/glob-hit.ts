import { readdirSync } from 'node:fs';
import { isAbsolute, normalize, posix } from 'node:path';
import type { Guard, ProtectedPath } from '../guard.ts';
import { matchesGlob } from '../shell/glob.ts';
import { type SearchedTree, UNKNOWN } from '../shell/shell-reading.ts';
import { comparablePath } from './comparable-path.ts';
import { hitByRemoval, hitByWrite, ownPaths } from './own-files.ts';

/** Maximum number of file names that one glob is matched with; beyond it the pattern alone decides. */
const MAX_NAMES = 2000;

/** A glob as a target of a write or (with `removes`) of a removal: the protected path that it could match. */
export function hitByGlob(pattern: string, cwd: string, removes: boolean, guard: Guard): ProtectedPath | undefined {
  const segments = segmentsOf(pattern, cwd);
  const byName = guard.own.find((entry) => couldMatch(segments, entry, removes, guard));
  if (byName !== undefined) return byName;
  // Symlinks: an existing match may lead to a protected file under another name.
  let left = MAX_NAMES;
  for (const path of expand(segments, () => left-- > 0)) {
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

function couldMatch(segments: readonly string[], entry: ProtectedPath, removes: boolean, { rules }: Guard): boolean {
  const own = entry.path.split('/').filter(Boolean);
  const shared = Math.min(segments.length, own.length);
  for (let at = 0; at < shared; at += 1) {
    const name = own[at] ?? '';
    const pattern = segments[at] ?? '';
    const begins = entry.prefix && at === own.length - 1;
    if (!matchesSegment(pattern, begins ? `${name}.json` : name, rules.caseInsensitive)) return false;
  }
  return segments.length >= own.length || removes;
}

/** A glob read by settings of the shell that are not the usual ones: dots, case and `**` match whatever they can. */
export function hitByOddGlob(pattern: string, cwd: string, removes: boolean, guard: Guard): ProtectedPath | undefined {
  const wanted = segmentsOf(pattern, cwd);
  const matches = (segments: readonly string[], names: readonly string[]): boolean => {
    const [first, ...rest] = segments;
    if (first === undefined) return removes || names.length === 0;
    if (first === '**') return names.some((_, index) => matches(rest, names.slice(index))) || rest.length === 0;
    return names.length > 0 && matchesGlob(first, names[0] ?? '', true) && matches(rest, names.slice(1));
  };
  return ownPaths(guard).find(({ path }) => matches(wanted, path.split('/').filter(Boolean)))?.entry;
}

/** As the shell does it, a leading dot is matched by a dot only. */
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
      for (const name of namesIn(directory === '' ? '/' : directory)) {
        if (!take()) return [];
        if (matchesSegment(segment, name, false)) next.push(`${directory}/${name}`);
      }
    }
    directories = next;
  }
  return directories;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
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
      // A search inside a protected directory finds nothing but protected files.
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
