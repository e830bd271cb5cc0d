import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, posix } from 'node:path';
import { ifOutOfReach, isFolder } from '../../state/files/regular-file.ts';
import { comparablePath } from '../comparable-path.ts';
import { ignoredByGit, trackedFiles } from '../git-repository.ts';
import { type Guard, holds, isDistinctive, isInside, type ProtectedPath } from '../guard.ts';
import { escapeGlob, matchesGlob } from '../shell/glob.ts';
import { type FileAccess, isUnknownPath, type SearchedTree, type ShellWord, UNKNOWN } from '../shell/shell-reading.ts';
import {
  absolutePath,
  formsOf,
  hitByRemoval,
  hitByTree,
  hitByTreeBelow,
  hitByWrite,
  isBelowProject,
  ownByName,
} from './own-files.ts';

/** Returns the protected path that a write of a shell command changes; undefined if there is none. */
export function hitByFileAccess(use: FileAccess, guard: Guard): ProtectedPath | undefined {
  const { word, cwdTemplate, how } = use;
  if (how === 'read' || how === 'git-tracked') return undefined;
  const removes = ['delete', 'move', 'git-path'].includes(how) || (how === 'mode' && use.recursive === true);
  if (word.under !== undefined) return hitBySearch(word.under, guard);
  if (word.text === null || isUnknownPath(word, cwdTemplate))
    return hitByTemplate(word.template, cwdTemplate, removes, guard);
  if (word.pattern !== undefined) {
    // git's own globs match across directories.
    if (use.by === 'git')
      return hitByTemplate(word.template.replace(/[*?]|\[[^\]]*\]/g, UNKNOWN), cwdTemplate, removes, guard);
    const matches = globMatcher(word.pattern, cwdTemplate, removes, true);
    const odd = use.odd === true ? ownPaths(guard).find(({ path }) => matches(path))?.entry : undefined;
    return odd ?? hitByGlob(word.pattern, cwdTemplate, removes, guard);
  }
  return hitByLiteral(use, word.text, cwdTemplate, guard);
}

const MAX_PIECES = 500;

/** Returns the own file, or the folder below the project's root that contains one, that a word names, even in part. */
export function hitByName(word: ShellWord, cwd: string, guard: Guard): ProtectedPath | undefined {
  if (word.under !== undefined) return hitBySearch(word.under, guard);
  if (word.pattern !== undefined && word.text !== null && !cwd.includes(UNKNOWN))
    return hitByGlob(word.pattern, cwd, true, guard);
  for (const given of piecesOf(word.template, guard)) {
    // Code expands globs itself: `glob('.claude/*/*')`; `.*` alone is a regular expression.
    if (/^\.[*?+]+[^/]*$/.test(given)) continue;
    const piece = given.replace(/[*?]+/g, UNKNOWN);
    const isUnknown = piece.includes(UNKNOWN) || (!piece.startsWith('/') && cwd.includes(UNKNOWN));
    const hit = isUnknown
      ? hitByTemplate(piece, cwd, 'below', guard)
      : (hitByWrite(piece, cwd, guard) ?? hitByTreeBelow(piece, cwd, guard));
    if (hit !== undefined) return hit;
  }
  return undefined;
}

/** Returns the word, the part attached to a short option (`-oF`, `+F`), and parts after a mark (`--x=F`, `CREATE:F`, `'F'`). */
export function piecesOf(template: string, guard: Guard): string[] {
  const isOption = template.startsWith('-') || template.startsWith('+');
  const attached = isOption ? /^(?:-[a-zA-Z]|\+)(.+)$/s.exec(template)?.[1] : undefined;
  const split = template.split(/[=:,;@|<>()[\]{}"'`\s]+/).slice(0, MAX_PIECES);
  return [...new Set([template, ...(attached === undefined ? [] : [attached]), ...split])]
    .filter((piece) => piece !== '' && piece.length < 4096)
    .map((piece) => (piece.startsWith('~/') ? guard.rules.home + piece.slice(1) : piece));
}

function hitByLiteral(use: FileAccess, path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  if (path === '') return undefined;
  switch (use.how) {
    case 'argument':
    case 'git-path':
      // A program that receives a folder to write to chooses the names itself.
      return hitByWrite(path, cwd, guard) ?? (use.by === 'mkdir' ? undefined : hitByTreeBelow(path, cwd, guard));
    case 'redirect':
    case 'copy':
    case 'link':
    case 'patch':
      return hitByWrite(path, cwd, guard);
    // What is written through a link to a folder is not followed.
    case 'link-source':
      return hitByTree(path, cwd, guard);
    case 'extract':
      return hitByWrite(path, cwd, guard) ?? ownFilesIn(path, cwd, guard)[0];
    case 'delete':
    case 'move':
      return hitByRemoval(path, cwd, use.recursive === true, guard);
    // A directory without write permission would prevent the loop from saving its state.
    case 'mode':
      if (use.recursive === true) return hitByTree(path, cwd, guard);
      return hitByWrite(path, cwd, guard) ?? ownFilesIn(path, cwd, guard)[0];
    case 'copy-into': {
      const from = use.from?.text;
      return from === null || from === undefined ? undefined : hitByCopy(from, path, cwd, guard);
    }
    case 'git-tracked':
    case 'read':
      return undefined;
    default:
      return use.how satisfies never;
  }
}

/** Returns an own file that a search finds, among the existing files. */
function hitBySearch(under: SearchedTree, guard: Guard): ProtectedPath | undefined {
  const { caseInsensitive, projectDir } = guard.rules;
  const isTracked = under.tracked === undefined ? () => undefined : trackedFiles(projectDir, under.tracked);
  const isClean = under.tracked === false;
  let left = MAX_NAMES;
  for (const root of [...under.roots, ...globbedRoots(under, () => left-- > 0)]) {
    const near = root.includes(UNKNOWN) ? '/' : comparablePath(guard.real(root), caseInsensitive);
    const found = ownPaths(guard, near).filter(({ path }) => {
      if (isTracked(path) !== under.tracked || (isClean && (!existsSync(path) || isFolder(path)))) return false;
      return searchFinds({ ...under, roots: [root] }, path, guard);
    });
    const paths = isClean && under.ignores ? found.map(({ path }) => path) : [];
    const ignored = ignoredByGit(projectDir, paths);
    const first = found.find(({ path }) => !ignored.has(path));
    if (first !== undefined) return first.entry;
  }
  return undefined;
}

/** Minimum length of the literal text before the first unknown part to identify a file: `ralph-$x.json`. */
const MIN_BEGINNING = 4;

/** Returns the protected path that a partly known path names (`$D/ralph-state.json`); a removed folder names its content. */
function hitByTemplate(
  template: string,
  cwdTemplate: string,
  removes: boolean | 'below',
  guard: Guard,
): ProtectedPath | undefined {
  const full = isAbsolute(template) || template.startsWith(UNKNOWN) ? template : `${cwdTemplate}/${template}`;
  const folded = guard.rules.caseInsensitive ? full.toLowerCase() : full;
  // `cd .claude && rm -rf $X`: any name there.
  if (template === UNKNOWN && isBelowProject(cwdTemplate, '/', guard)) {
    const near = ownFilesIn(cwdTemplate, '/', guard)[0] ?? hitByWrite(cwdTemplate, '/', guard);
    const hit = near ?? (removes ? hitByTreeBelow(cwdTemplate, '/', guard) : undefined);
    if (hit !== undefined) return hit;
  }
  const literalEnd = folded.indexOf(UNKNOWN);
  const directory = folded.slice(0, folded.lastIndexOf('/', literalEnd));
  if (directory !== '') {
    const inside = hitByWrite(directory, '/', guard);
    if (inside !== undefined) return inside;
    const rest = folded.slice(directory.length + 1);
    // `rm .claude/context/runtime/$f`, and ralph-$x.json anywhere.
    if (!rest.includes('/')) {
      const own = ownFilesIn(directory, '/', guard).find((entry) => rest === UNKNOWN || matchesName(rest, entry));
      if (own !== undefined) return own;
    }
  }
  const name = folded.slice(folded.lastIndexOf('/') + 1);
  const begins =
    name.indexOf(UNKNOWN) >= MIN_BEGINNING ? guard.own.find((entry) => matchesName(name, entry)) : undefined;
  const isThere = begins && (isDistinctive(name) || matchesGlob(collapse(dirname(folded)), dirname(begins.path)));
  if (isThere) return begins;
  const named = (guard.rules.ownNames ?? []).find(
    ({ dir, name: own }) => name === own && folded.includes(`/${basename(dir)}/`),
  );
  if (named !== undefined) return { path: folded, prefix: false, label: `${named.dir}/*/${named.name}` };
  return guard.own.find((entry) => names(folded, entry, removes, guard));
}

function matchesName(name: string, entry: ProtectedPath): boolean {
  const own = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  return entry.prefix ? name.startsWith(own) || matchesGlob(name, `${own}.json`) : matchesGlob(name, own);
}

/** Matches the template (or, for a removal, its parents) against the path, and a parent of the path, if their names suffice. */
function names(template: string, entry: ProtectedPath, removes: boolean | 'below', guard: Guard): boolean {
  const isRemoved = (path: string): boolean =>
    removes === 'below' ? guard.project.some((project) => path.startsWith(`${project}/`)) : removes;
  const folders: string[] = [];
  for (let up = dirname(entry.path); up !== dirname(up) && isRemoved(up); up = dirname(up)) folders.push(up);
  // The parts of a glob are as unknown: `.claude/$x/*.json`.
  const whole = collapse(template).replace(/[*?]|\[[^\]]*\]/g, UNKNOWN);
  const known = whole.indexOf(UNKNOWN);
  // `rm -r .claude/$f` shows where it is; `./$f` in the project shows no more than a bare `$f`.
  const isPlaced = known > 0 && !guard.project.some((project) => whole.slice(0, known) === `${project}/`);
  for (let part = whole; part.includes('/'); part = part.slice(0, part.lastIndexOf('/'))) {
    const segments = part.split('/');
    const last = segments.at(-1) ?? '';
    const before = segments.at(-2) ?? UNKNOWN;
    const removesIt = part === whole && removes !== false;
    const isOpen = last.includes(UNKNOWN);
    if (last === '' || (isOpen && !(removes !== false && isPlaced))) continue;
    const isTelling = isPlaced || isDistinctive(last) || (before !== '' && !before.includes(UNKNOWN));
    if (!isTelling) continue;
    // `.claude/skills/$x/scripts` may be in a folder of the loop.
    const isAbove = isOpen && part !== whole;
    if (matchesPath(part, entry.path, entry.prefix) && (!isAbove || mayBe(part, entry.path, guard))) return true;
    // A folder above both of them shows nothing.
    if (removesIt && folders.some((path) => matchesPath(part, path, false))) return true;
  }
  return false;
}

/** Returns whether a folder of unknown name is probably this one: outside the project, only at the same depth. */
function mayBe(template: string, path: string, guard: Guard): boolean {
  const isNear = guard.project.some((project) => path.startsWith(`${project}/`));
  return (isNear || template.split('/').length === path.split('/').length) && isFolder(path);
}

/** Matches a path against a template in which only the unknown parts are wildcards. */
function matchesPath(template: string, path: string, prefix: boolean): boolean {
  if (!prefix) return matchesGlob(escapeGlob(template), path);
  const name = template.slice(template.lastIndexOf('/') + 1);
  const begin = path.slice(path.lastIndexOf('/') + 1);
  return name.startsWith(begin) && matchesGlob(escapeGlob(dirname(template)), dirname(path));
}

/** Resolves `.` and `..` after literal segments; `..` after an unknown one stays. */
function collapse(template: string): string {
  const result: string[] = [];
  for (const segment of template.split('/')) {
    if (segment === '.' || (segment === '' && result.length > 0)) continue;
    if (segment === '..' && result.length > 0) {
      const last = result.pop();
      if (last?.includes(UNKNOWN)) result.push(UNKNOWN);
    } else result.push(segment);
  }
  return result.join('/');
}

const MAX_FILES = 5000;

/** Returns the existing guarded files, each with its entry; `near` limits them to entries at, below or above that path. */
function ownPaths(guard: Guard, near = '/'): Array<{ readonly path: string; readonly entry: ProtectedPath }> {
  const close = guard.own.filter((entry) => isInside(near, entry) || holds(near, entry));
  return close.flatMap((entry) => {
    const folder = entry.prefix ? dirname(entry.path) : entry.path;
    const below = isFolder(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    const paths = below.slice(0, MAX_FILES).map((name) => join(folder, name));
    const itself = entry.prefix ? `${entry.path}.json` : entry.path;
    return [itself, ...paths.filter((path) => isInside(path, entry))].map((path) => ({ path, entry }));
  });
}

/** Returns the protected path overwritten by copying a directory's content, if the source has a corresponding file. */
function hitByCopy(from: string, path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
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
function ownFilesIn(path: string, cwd: string, guard: Guard): readonly ProtectedPath[] {
  const forms = formsOf(path, cwd, guard);
  const { home, caseInsensitive } = guard.rules;
  const shared = [...guard.project, comparablePath(home, caseInsensitive)];
  const own = forms.filter((form) => !shared.some((each) => each === form || each.startsWith(`${form}/`)));
  return guard.own.filter((entry) => own.includes(dirname(entry.path)));
}

/** Maximum number of file names matched against one glob; beyond it, the pattern alone decides. */
const MAX_NAMES = 2000;

/** Returns the protected path that a glob could match as the target of a write or (with `removes`) of a removal. */
function hitByGlob(pattern: string, cwd: string, removes: boolean, guard: Guard): ProtectedPath | undefined {
  const matches = globMatcher(pattern, cwd, removes, false, guard.rules.caseInsensitive);
  const byName = guard.own.find(({ path, prefix }) => matches(prefix ? `${path}.json` : path));
  if (byName !== undefined) return byName;
  // Because of symlinks, an existing match may be a protected file under another name.
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

/** Returns a matcher for the paths of a glob. `isOdd`: with unusual shell settings, dots, case and `**` match all they can. */
export function globMatcher(pattern: string, cwd: string, removes: boolean, isOdd: boolean, folds = true) {
  const matches = (segments: readonly string[], names: readonly string[]): boolean => {
    const [first, ...rest] = segments;
    const [name] = names;
    if (first === undefined) return removes || name === undefined;
    if (isOdd && first === '**') return names.some((_, at) => matches(rest, names.slice(at))) || rest.length === 0;
    // Nothing else is below a folder that is kept.
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
        // `*/dist` means the folders that contain it.
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

/** Returns the current matches of a search's globs. */
export function globbedRoots({ globs = [] }: SearchedTree, take: () => boolean): string[] {
  return globs.flatMap((glob) => {
    const paths = globbedPaths(glob, '/', take);
    return glob.endsWith('/') ? paths.filter((path) => isFolder(path)) : paths;
  });
}

/** Returns whether this search finds the path or a folder above it: below one of its roots, by its conditions. */
export function searchFinds(under: SearchedTree, path: string, guard: Guard): boolean {
  const { caseInsensitive } = guard.rules;
  const { names, except = [], maxDepth = Number.POSITIVE_INFINITY } = under;
  // An excluded name counts below the root only, not among the folders that contain the project.
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
