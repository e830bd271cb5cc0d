import { lstatSync, readFileSync } from 'node:fs';
import { dirname, extname, join, normalize, relative } from 'node:path';
import type { TddScenario } from '../../engine/schema/tdd.ts';
import { regularFile } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { listFiles } from '../../state/snapshot/list-files.ts';
import { isProjectFile } from '../project-file.ts';

/** SHA-256 of test files, by path relative to the project; `UNREADABLE` for one that is there and cannot be read. */
export type TestFiles = Readonly<Record<string, string>>;

const UNREADABLE = 'unreadable';

/** Returns the test files that are there and cannot be read. */
export function unreadableIn(tests: TestFiles): string[] {
  return Object.keys(tests).filter((path) => tests[path] === UNREADABLE);
}

const IN_FOLDER = /(?:^|\/)(?:__)?(?:tests?|specs?|testing|e2e|features)(?:__)?\//i;
const BY_NAME =
  /(?:^|\/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec|cy)\.[^/]+|[^/]*(?:Test|Tests|Spec)\.[^/.]+)$/;
/** Code, as opposed to what a test run writes beside it. */
const CODE =
  /\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kts?|scala|cs|fs|swift|exs?|dart|lua|sh|bats|t|p[lm]|c|cc|cpp|hh?|hpp|clj|hs|zig|groovy|r|jl|feature)$/i;
/** Folders with the code under test: some languages have tests and code in one file. */
const SOURCES = /^(?:.*\/)?(?:src|lib|app|pkg|internal|cmd)\//;
const BUILT = new Set('vendor target dist build coverage venv'.split(' '));

/** Hashes the test code of a project. */
export function testFiles(projectDir: string): TestFiles {
  const within = (path: string): string => relative(projectDir, path);
  const { files } = listFiles({
    roots: [projectDir],
    covers: (path) => isTestCode(within(path)),
    skips: (folder) => isLeftOut(within(folder)),
  });
  return hashes(projectDir, files.map(within));
}

/**
 * Hashes the test files of a scenario: those that its command names and those that differ from `before`, when the scenario
 * began; without any, all tests of the project. Files that they require are included where they are test code.
 */
export function testsOf({ run }: TddScenario, projectDir: string, before: TestFiles | undefined): TestFiles {
  const now = testFiles(projectDir);
  const changed = before === undefined ? [] : Object.keys(now).filter((path) => now[path] !== before[path]);
  const own = new Set([...changed, ...namedBy(run, projectDir)]);
  if (own.size === 0) return now;
  // A set that grows while it is read.
  for (const path of own) for (const each of requiredBy(path, projectDir)) own.add(each);
  return hashes(projectDir, [...own].toSorted());
}

/** Returns which of these files changed while their own command ran, such as a report that it names. Test code is none. */
export function outputIn(projectDir: string, tests: TestFiles): string[] {
  const now = hashes(projectDir, Object.keys(tests));
  return Object.keys(tests).filter((path) => !isTestCode(path) && now[path] !== tests[path]);
}

/** Returns what happened to test files since they were hashed, one text each. */
export function changedTests(projectDir: string, then: TestFiles): string[] {
  const now = hashes(projectDir, Object.keys(then));
  return Object.keys(then).flatMap((path) => {
    const hash = now[path];
    if (hash === then[path] && hash !== UNREADABLE) return [];
    return [`${path} ${hash === undefined ? 'was removed' : hash === UNREADABLE ? 'cannot be read' : 'was changed'}`];
  });
}

/** Returns the path of a source file with tests of its own, which no hash covers; null without one. */
export function testsInCode({ run }: TddScenario, projectDir: string): string | null {
  const [, ending, mark] = IN_CODE.find(([program]) => program.test(run)) ?? [];
  if (ending === undefined || mark === undefined) return null;
  const within = (path: string): string => relative(projectDir, path);
  const { files } = listFiles({
    roots: [projectDir],
    covers: (path) => path.endsWith(ending) && !isTest(within(path)),
    skips: (folder) => isLeftOut(within(folder)),
  });
  const found = files.find((path) => mark.test(bytesOf(path)?.toString('utf8') ?? ''));
  return found === undefined ? null : within(found);
}

/** Programs that run tests inside the code: by the command, the ending of the files, and what begins a test there. */
const IN_CODE: readonly (readonly [program: RegExp, ending: string, mark: RegExp])[] = [
  [/\bcargo\b/, '.rs', /#\[(?:cfg\(test\)|(?:\w+::)*test\b)/],
  [/\bzig\b/, '.zig', /^[ \t]*test\s+["{\w]/m],
];

function isLeftOut(folder: string): boolean {
  return /(?:^|\/)\.[^/]+$/.test(folder) || BUILT.has(folder);
}

function isTestCode(path: string): boolean {
  return isTest(path) && CODE.test(path);
}

function isTest(path: string): boolean {
  return BY_NAME.test(path) || IN_FOLDER.test(path);
}

/** Hashes files; leaves out those that are missing. */
function hashes(projectDir: string, paths: readonly string[]): TestFiles {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const bytes = bytesOf(join(projectDir, path));
      if (bytes !== null) return [[path, sha256(bytes)]];
      return lstatSync(join(projectDir, path), { throwIfNoEntry: false }) === undefined ? [] : [[path, UNREADABLE]];
    }),
  );
}

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

/** Returns the test files that a command names, in the project or in a folder that it names. */
function namedBy(run: string, projectDir: string): string[] {
  const words = run.split(/[\s'"`;|&()<>=,]+/).map((word) => normalize(word.replace(/::.*$/, '')));
  const places = ['.', ...words.filter((word) => !word.startsWith('-'))];
  const paths = places.flatMap((place) => words.map((word) => normalize(join(place, word))));
  const found = [...new Set(paths)].filter((path) => !path.startsWith('..') && isProjectFile(projectDir, path));
  return found.filter((path) => isTest(path) || (!SOURCES.test(path) && !/\.(?:rs|zig)$/.test(path)));
}

const QUOTED = /["'](\.{1,2}\/[^"'\n]+)["']/g;
const RUBY = /\brequire_relative\s*\(?\s*["']([^"'\n]+)["']/g;
const PYTHON = /^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([.\w]+))/gm;

/** Returns the test code that a file requires by a path of its own project. */
function requiredBy(path: string, projectDir: string): string[] {
  const bytes = bytesOf(join(projectDir, path));
  if (bytes === null || !CODE.test(path)) return [];
  const text = bytes.toString('utf8');
  const folder = dirname(path);
  const stems = [
    ...[...text.matchAll(QUOTED), ...text.matchAll(RUBY)].map(([, at = '']) => join(folder, at)),
    ...[...text.matchAll(PYTHON)].flatMap(([, from, whole]) => modulePaths(from ?? whole ?? '', folder)),
  ];
  const endings = ['', extname(path), '.js', '.ts', '.json', `/index${extname(path)}`, '/__init__.py'];
  const found = new Set(stems.flatMap((stem) => [...endings, ...swapped(stem)].map((end) => withEnding(stem, end))));
  return [...found].filter((each) => isTest(each) && isProjectFile(projectDir, each));
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
