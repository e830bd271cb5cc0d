import { type Dirent, readdirSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { ifOutOfReach, isFolder } from '../../state/files/regular-file.ts';
import { changedByGit, isWithoutStash, trackedFiles } from '../git-repository.ts';
import type { Guard, ToolCall } from '../guard.ts';
import { globbedPaths, globbedRoots, globMatcher, searchFinds } from '../own-files/file-access-hit.ts';
import { absolutePath, isBelowProject } from '../own-files/own-files.ts';
import { expandBraces } from '../shell/expand/expand-word.ts';
import { escapeGlob, matchesGlob } from '../shell/glob.ts';
import { type FileAccess, isUnknownPath, type SearchedTree, UNKNOWN } from '../shell/shell-reading.ts';
import { formsBelow, type PathForms, pathForms, simpleGlob } from './path-pattern.ts';
import { toolPaths } from './tool-paths.ts';

export interface Reached {
  readonly forms: PathForms;
  readonly shown: string;
  /** True for a path that a search looks for, whether or not it exists. */
  readonly sought?: true;
}

/** Returns the paths that a file access of a shell command reaches, if they are known without running it. */
export function reachedPaths(use: FileAccess, guard: Guard, budget: Budget): Reached[] {
  const { word, cwdTemplate: cwd } = use;
  // The next use of a path has its own budget.
  budget.left = MAX_ENTRIES;
  if (word.under !== undefined) return foundBySearch(word.under, guard, budget);
  if (word.text === '') return [];
  if (word.text === null || isUnknownPath(word, cwd))
    return [reached(word.template, cwd, guard), ...namedInPart(word.template, cwd, guard, budget)];
  if (word.pattern === undefined) return byLiteral(use, word.text, cwd, guard, budget);
  const itself = reached(word.template, cwd, guard);
  if (use.odd === true) {
    // With such settings of the shell, it may match anything below its plain beginning.
    const folder = absolutePath(word.pattern, cwd).replace(/[^/]*[*?[(].*$/s, '');
    const matches = globMatcher(word.pattern, cwd, use.recursive === true || use.how === 'mode', true);
    return [itself, ...reachedBelow(folder, guard, budget, matches)];
  }
  if (isSpent(budget)) return [itself];
  if (use.by === 'git') {
    // git's own globs match across directories.
    const whole = posix.normalize(absolutePath(word.pattern, cwd));
    const isChanged = restored(use, guard);
    return [itself, ...reachedBelow(cwd, guard, budget, (path) => matchesGlob(whole, path) && isChanged(path))];
  }
  return [
    itself,
    ...globbedPaths(word.pattern, cwd, () => take(budget)).flatMap((path) => byLiteral(use, path, '/', guard, budget)),
  ];
}

/** Returns files that `rm config/$f` may mean: all in that folder; none for the project's root and above. */
function namedInPart(template: string, cwd: string, guard: Guard, budget: Budget): Reached[] {
  const path = absolutePath(template, cwd);
  const end = path.lastIndexOf('/');
  const directory = path.slice(0, end);
  if (directory.includes(UNKNOWN) || !isBelowProject(directory, '/', guard)) return [];
  const name = escapeGlob(path.slice(end + 1));
  return entriesOf(directory, budget)
    .filter((entry) => matchesGlob(name, entry))
    .map((entry) => reached(`${directory}/${entry}`, '/', guard));
}

function byLiteral(use: FileAccess, path: string, cwd: string, guard: Guard, budget: Budget): Reached[] {
  const itself = reached(path, cwd, guard);
  const absolute = absolutePath(path, cwd);
  const all = (): Reached[] => [itself, ...reachedBelow(absolute, guard, budget)];
  switch (use.how) {
    case 'redirect':
    case 'argument':
    case 'copy':
    case 'link':
    case 'link-source':
    case 'patch':
      return [itself];
    case 'read':
    case 'delete':
    case 'move':
    case 'mode':
      return use.recursive === true ? all() : [itself];
    case 'copy-into': {
      const from = use.from?.text;
      if (from === null || from === undefined) return [];
      const copied = listBelow(absolutePath(from, use.cwdTemplate), budget);
      return copied.map((rest) => reached(`${path}/${rest}`, cwd, guard));
    }
    case 'extract':
      // The content of an archive is unknown, so it must not be extracted into guarded folders of the project.
      return isBelowProject(path, cwd, guard) ? all() : [itself];
    case 'git-path':
      return [itself, ...reachedBelow(absolute, guard, budget, restored(use, guard))];
    case 'git-tracked':
      return reset(use, guard, budget);
    default:
      return use.how satisfies never;
  }
}

/** Returns the paths of commands that restore tracked files to git's version. A switch of branches is only recorded. */
function reset(use: FileAccess, guard: Guard, budget: Budget): Reached[] {
  if (!/^git (reset|stash)$/.test(use.word.source)) return [];
  return reachedBelow(guard.rules.projectDir, guard, budget, restored(use, guard));
}

/** Returns a test for the files that git replaces: those that differ from its version, or all if git cannot say. */
function restored({ compared }: FileAccess, { rules: { projectDir, writable } }: Guard): (path: string) => boolean {
  const changes = compared === undefined ? null : changedByGit(projectDir, compared, writable !== undefined);
  if (changes === null && compared?.includes('stash@{0}') && isWithoutStash(projectDir)) return () => false;
  return changes ?? trackedFiles(projectDir);
}

function foundBySearch(under: SearchedTree, guard: Guard, budget: Budget): Reached[] {
  const isTracked = under.tracked === undefined ? () => undefined : trackedFiles(guard.rules.projectDir, under.tracked);
  const isCleaned = under.tracked === false;
  const counts = (root: string) => (path: string) => {
    if (isTracked(path) !== under.tracked || (isCleaned && isFolder(path))) return false;
    return searchFinds({ ...under, roots: [root] }, path, guard);
  };
  const placed = under.roots.flatMap((given) => {
    const root = given.includes(UNKNOWN) ? given : posix.normalize(given);
    const named = under.names.map((name) => ({ ...reached(`${root}/${name}`, '/', guard), sought: true as const }));
    if (root.includes(UNKNOWN)) return named;
    const found = reachedBelow(root, guard, budget, counts(root));
    if (isCleaned && isFolder(root)) return found;
    return [...(under.names.length === 0 ? [reached(root, '/', guard)] : named), ...found];
  });
  const globbed = globbedRoots(under, () => take(budget)).flatMap((root) => [
    ...(counts(root)(root) ? [reached(root, '/', guard)] : []),
    ...reachedBelow(root, guard, budget, counts(root)),
  ]);
  return [...placed, ...globbed];
}

function reachedBelow(directory: string, guard: Guard, budget: Budget, counts?: (path: string) => boolean): Reached[] {
  const from = posix.normalize(directory).replace(/(?<=.)\/+$/, '');
  const real = guard.real(from);
  if (isSpent(budget)) return [];
  return listBelow(from, budget).flatMap((rest) => {
    const path = from === '/' ? `/${rest}` : `${from}/${rest}`;
    if (counts !== undefined && !counts(path)) return [];
    return [{ forms: formsBelow(rest, from === '/' ? '' : from, real === '/' ? '' : real, guard), shown: path }];
  });
}

function reached(path: string, cwd: string, guard: Guard): Reached {
  return { forms: pathForms(path, cwd, guard), shown: path };
}

export function reachedByTool(call: ToolCall, guard: Guard, budget: Budget, sureOnly = false) {
  const { paths, access, removes } = toolPaths(call, guard, sureOnly);
  const reached = (path: string): Reached => ({ forms: pathForms(path, call.cwd, guard), shown: path });
  const reads = access === 'reads';
  if (call.tool === 'Glob') {
    const pattern = textOf(call, 'pattern') ?? '';
    const globs = pattern === '' ? [] : [pattern, ...paths.map((path) => `${path}/${pattern}`)];
    return { reached: [...paths, ...globs].map(reached), reads };
  }
  const below = (path: string, counts?: (found: string) => boolean): Reached[] => [
    reached(path),
    ...reachedBelow(absolutePath(path, call.cwd), guard, budget, counts),
  ];
  // A search in a folder shows the content of its files.
  if (call.tool === 'Grep') {
    const counts = filterOf(textOf(call, 'glob'));
    return { reached: (paths.length === 0 ? ['.'] : paths).flatMap((path) => below(path, counts)), reads };
  }
  return { reached: removes ? paths.flatMap((path) => below(path)) : paths.map(reached), reads };
}

/** Returns a test for files that a search with this filter reads; undefined (all) beyond names, stars and braces. */
function filterOf(filter: string | null): ((path: string) => boolean) | undefined {
  if (filter === null || filter === '') return undefined;
  const globs = expandBraces(filter)?.map((glob) =>
    simpleGlob(glob.includes('/') ? `**/${glob.replace(/^\/+/, '')}` : glob, false),
  );
  if (globs === undefined || !globs.every((matches) => matches !== null)) return undefined;
  const byName = !filter.includes('/');
  return (path) => globs.some((matches) => matches(byName ? path.slice(path.lastIndexOf('/') + 1) : path));
}

function textOf({ input }: ToolCall, key: string): string | null {
  const value = (input as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'string' ? value : null;
}

/** Maximum number of files and folders examined for one use of a path, and for all uses of one call. */
const MAX_ENTRIES = 5000;
const MAX_IN_ALL = 20_000;
/** Number of entries that may still be read; negative if there were more. */
export interface Budget {
  left: number;
  whole: number;
  /** True if one use exceeded its share. */
  cut: boolean;
}

export function newBudget(): Budget {
  return { left: MAX_ENTRIES, whole: MAX_IN_ALL, cut: false };
}

/** Spends the budget of the whole call, because a part was not examined. */
export function spendAll(budget: Budget): void {
  budget.whole = -1;
  budget.cut = true;
}

/** Returns whether the budget of the whole call is spent: nothing more is listed. */
export function isSpent(budget: Budget): boolean {
  return budget.whole < 0;
}

/** Takes one entry; returns false if none is left. */
export function take(budget: Budget): boolean {
  budget.left -= 1;
  budget.whole -= 1;
  if (budget.left >= 0 && budget.whole >= 0) return true;
  budget.cut = true;
  return false;
}

/** Folders of tools, with thousands of files that are not the user's, such as test keys. */
const PASSED_OVER = new Set(['node_modules', '.git']);

/** Lists the paths below a directory, relative to it; empty if it is not a directory. Symlinks are not followed. */
function listBelow(directory: string, budget: Budget): string[] {
  if (PASSED_OVER.has(basename(directory))) return [];
  const found: string[] = [];
  const open = [''];
  for (let at = 0; at < open.length; at += 1) {
    const prefix = open[at] ?? '';
    for (const entry of readDirectory(`${directory}/${prefix}`)) {
      if (!take(budget)) return found;
      const path = `${prefix}${entry.name}`;
      found.push(path);
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) open.push(`${path}/`);
    }
  }
  return found;
}

export function entriesOf(directory: string, budget: Budget): string[] {
  return readDirectory(directory).flatMap(({ name }) => (take(budget) ? [name] : []));
}

function readDirectory(directory: string): Dirent[] {
  // A directory that is not readable here is not readable for the command either.
  return ifOutOfReach(() => readdirSync(directory, { withFileTypes: true }), []);
}
