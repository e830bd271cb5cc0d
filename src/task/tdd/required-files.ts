import { readFileSync } from 'node:fs';
import { basename, dirname, extname, join, normalize, relative } from 'node:path';
import { regularFile } from '../../state/files/regular-file.ts';
import { listFiles } from '../../state/snapshot/list-files.ts';
import { isProjectFile } from '../project-file.ts';
import { isCode, isDouble, isHelper, isLeftOut, isTest } from './test-paths.ts';

const UNREAD = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'EISDIR'];

/** Returns the content of a file; null for one that is missing or cannot be read. */
export function bytesOf(path: string): Buffer | null {
  try {
    return readFileSync(regularFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Without a code: another kind of file.
    if (code === undefined || UNREAD.includes(code)) return null;
    throw error;
  }
}

/**
 * Adds to `own` what these tests require, and so on: test files, and helpers outside the test folders that no other code
 * requires.
 */
export function withRequired(own: readonly string[], projectDir: string): Set<string> {
  const all = new Set(own);
  let code: ReadonlySet<string> | null = null;
  const isForTests = (path: string, by: string): boolean => {
    const isSubject = isCode(path) && subjectOf(by) === subjectOf(path);
    if (!isDouble(path) && (!isHelper(path) || isSubject)) return false;
    code ??= requiredByCode(projectDir);
    return !code.has(path);
  };
  // A set that grows while it is read.
  for (const by of all) {
    for (const path of requiredBy(by, projectDir)) if (isTest(path) || isForTests(path, by)) all.add(path);
  }
  return all;
}

/** Returns what a test is about by its name: `date` for date.test.js, test_date.py and date.js. */
function subjectOf(path: string): string {
  return basename(path)
    .replace(/\..*$/, '')
    .replace(/^test[_-]|[_-](?:test|spec)s?$|(?:Test|Spec)s?$/, '');
}

/** Returns the files that code requires which is neither a test nor a helper. */
function requiredByCode(projectDir: string): Set<string> {
  const within = (path: string): string => relative(projectDir, path);
  const isPlain = (path: string): boolean => isCode(path) && !isTest(path) && !isDouble(path) && !isHelper(path);
  const { files } = listFiles({
    roots: [projectDir],
    covers: (path) => isPlain(within(path)),
    skips: (folder) => isLeftOut(within(folder)),
  });
  return new Set(files.flatMap((path) => requiredBy(within(path), projectDir)));
}

const QUOTED = /["'`]([\w.@-]*(?:\/[\w.@-]+)+)["'`]/g;
const RUBY = /\brequire_relative\s*\(?\s*["']([^"'\n]+)["']/g;
const PYTHON = /^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([.\w]+))/gm;

/** Returns the files of its own project that a file of code names: as a module, or by a path. */
function requiredBy(path: string, projectDir: string): string[] {
  const bytes = isCode(path) ? bytesOf(join(projectDir, path)) : null;
  if (bytes === null) return [];
  const text = bytes.toString('utf8');
  const folder = dirname(path);
  const stems = [
    ...[...text.matchAll(QUOTED)].flatMap(([, at = '']) =>
      at.startsWith('.') ? [join(folder, at)] : [at, join(folder, at)],
    ),
    ...[...text.matchAll(RUBY)].map(([, at = '']) => join(folder, at)),
    ...[...text.matchAll(PYTHON)].flatMap(([, from, whole]) => modulePaths(from ?? whole ?? '', folder)),
  ];
  const endings = ['', extname(path), '.js', '.ts', '.json', `/index${extname(path)}`, '/__init__.py'];
  const found = new Set(stems.flatMap((stem) => [...endings, ...swapped(stem)].map((end) => withEnding(stem, end))));
  return [...found, ...loadedWith(path)].filter((each) => isProjectFile(projectDir, each));
}

/** Returns what pytest loads with a test file, without being named there. */
function loadedWith(path: string): string[] {
  if (!path.endsWith('.py') || !isTest(path)) return [];
  const folders = dirname(path).split('/');
  return folders.map((_, index) => join(...folders.slice(0, index + 1), 'conftest.py')).concat('conftest.py');
}

/** Returns an ending that replaces that of a stem: TypeScript imports `./a.js` for a.ts. */
function swapped(stem: string): string[] {
  return /\.[cm]?jsx?$/.test(stem) ? [`-${extname(stem).replace('j', 't')}`] : [];
}

function withEnding(stem: string, end: string): string {
  const whole = end.startsWith('-') ? stem.slice(0, -extname(stem).length) + end.slice(1) : stem + end;
  return normalize(whole);
}

/** Returns the paths, without an ending, of a module of Python: `.helper`, `tests.helper`, `helper`. */
function modulePaths(name: string, folder: string): string[] {
  const [, dots = '', rest = ''] = /^(\.*)(.*)$/.exec(name) ?? [];
  const inner = rest.replaceAll('.', '/');
  if (dots !== '') return [join(folder, ...Array.from({ length: dots.length - 1 }, () => '..'), inner)];
  return [inner, join(folder, inner)];
}
