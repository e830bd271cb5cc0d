import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, normalize, relative } from 'node:path';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import { listFiles } from '../../state/snapshot/list-files.ts';
import { isProjectFile } from '../project-file.ts';

/** Pattern for folders of tests, and of files that only tests use. */
const IN_FOLDER =
  /(?:^|\/)(?:(?:__)?(?:tests?|specs?|testing|e2e)(?:__)?|__(?:fixtures|mocks|snapshots)__|testdata|tap-snapshots)\//i;
const BY_NAME =
  /(?:^|\/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec|cy)\.[^/]+|[^/]*(?:Test|Tests|Spec)\.[^/.]+|tests\.py|tests?\.rs|[^/]+\.(?:feature|bats|t))$/;
/** Pattern for the steps of Cucumber and behave, and a file called test. Below the sources, these are program code. */
const OUTSIDE_SOURCES =
  /(?:^|\/)(?:features\/(?:environment\.py$|(?:.*\/)?(?:step_?definitions|steps|support)\/)|tests?\.(?:[cm]?[jt]sx?|py|rb|php|sh|lua|exs)$)/;
const CODE =
  /\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kts?|scala|cs|fs|swift|exs?|dart|lua|sh|bats|t|p[lm]|c|cc|cpp|hh?|hpp|clj|hs|zig|groovy|r|jl|feature)$/i;
/** Pattern for files that a run leaves beside its tests. */
const BY_RUNS =
  /\.(?:log|tmp|pid|lock|pyc|lcov)$|~$|(?:^|\/)(?:coverage|reports?|results?|test-results|output|te?mp|logs|screenshots|videos|(?:bin|obj)\/(?:debug|release))\//i;
/** Names of files that tests use in place of real ones, and of those that may also be helpers of the code. */
const DOUBLES =
  /(?:^|[/._-])(?:fixtures?|mocks?|stubs?|fakes?|doubles|factories|test-?(?:utils?|kit|helpers?|setup)|setup-?tests?)(?:[/._-]|$)/i;
const HELPERS = /(?:^|[/._-])(?:helpers?|support|setup|assertions?|matchers?|expected|golden|data)(?:[/._-]|$)/i;
/** Pattern for folders with code under test: in some languages, tests and code share a file. */
const SOURCES = /^(?:.*\/)?(?:src|lib|app|pkg|internal|cmd)\//;
/** Folders that hold what tools made, as those with a dot do. */
const BUILT = new Set('vendor target dist build coverage venv'.split(' '));
const SNAPSHOT = /\.(?:snap|ambr)$|(?:^|\/)(?:__)?(?:tap-)?snapshots(?:__)?\//i;

export function isTest(path: string): boolean {
  return BY_NAME.test(path) || IN_FOLDER.test(path) || (OUTSIDE_SOURCES.test(path) && !isInSources(path));
}

export function isCode(path: string): boolean {
  return CODE.test(path);
}

export function isTestCode(path: string): boolean {
  return isTest(path) && isCode(path);
}

/** Returns whether tests may read a file of a test folder that is not code, such as a fixture. */
export function isTestData(path: string): boolean {
  return isTest(path) && !isCode(path) && !BY_RUNS.test(path);
}

/** Returns whether a runner writes the expectations of a file, and adds those of new tests. */
export function isSnapshot(path: string): boolean {
  return SNAPSHOT.test(path);
}

export function isInSources(path: string): boolean {
  return SOURCES.test(path);
}

/** Returns whether code named in a runner's configuration, such as a set-up, exists for tests. */
export function isForTests(path: string): boolean {
  return isTestCode(path) || (isCode(path) && (isDouble(path) || isHelper(path)));
}

/** Returns whether a file outside the test folders, judged by its name, replaces something else in tests. */
function isDouble(path: string): boolean {
  return DOUBLES.test(path);
}

/** Returns whether a file outside the test folders and the sources, judged by its name, only helps other files. */
function isHelper(path: string): boolean {
  return HELPERS.test(path) && !isInSources(path);
}

/** Returns the content of a file; null if it is missing or cannot be read. */
export function bytesOf(path: string): Buffer | null {
  return ifOutOfReach(() => (statSync(path).isFile() ? readFileSync(path) : null), null);
}

/** Lists the covered files of a project, relative to it, outside folders of files made by tools. */
export function filesOf(projectDir: string, covers: (path: string) => boolean): string[] {
  const within = (path: string): string => relative(projectDir, path);
  const { files } = listFiles({
    roots: [projectDir],
    covers: (path) => covers(within(path)),
    skips: (folder) => /(?:^|\/)\.[^/]+$/.test(within(folder)) || BUILT.has(within(folder)),
  });
  return files.map(within);
}

/**
 * Adds to `own`, repeatedly, what these tests require: test files, and helpers outside the test folders that no other
 * code requires.
 */
export function withRequired(own: readonly string[], projectDir: string): Set<string> {
  const all = new Set(own);
  let code: ReadonlySet<string> | null = null;
  const named = namedWithoutPath(projectDir);
  const isForTests = (path: string, by: string): boolean => {
    const isSubject = isCode(path) && subjectOf(by) === subjectOf(path);
    if (!isDouble(path) && (!isHelper(path) || isSubject)) return false;
    code ??= requiredByCode(projectDir, named);
    return !code.has(path);
  };
  // The set grows during the iteration.
  for (const by of all) {
    for (const path of [...requiredBy(by, projectDir), ...named(by)])
      if (isTest(path) || isForTests(path, by)) all.add(path);
  }
  return all;
}

/** Returns files that are not code, named by these tests, that may be what they test, such as a configuration. */
export function alsoNamed(tests: readonly string[], projectDir: string): string[] {
  const named = new Set(tests.flatMap((path) => requiredBy(path, projectDir)));
  return [...named].filter((path) => !isCode(path) && !tests.includes(path));
}

/** Returns the subject of a test, judged by its name: `date` for date.test.js, test_date.py and date.js. */
function subjectOf(path: string): string {
  return basename(path)
    .replace(/\..*$/, '')
    .replace(/^test[_-]|[_-](?:test|spec)s?$|(?:Test|Spec)s?$/, '');
}

/** Returns the files required by code that is neither a test nor a helper. */
function requiredByCode(projectDir: string, named: (by: string) => readonly string[]): Set<string> {
  const isPlain = (path: string): boolean => isCode(path) && !isTest(path) && !isDouble(path) && !isHelper(path);
  return new Set(filesOf(projectDir, isPlain).flatMap((path) => [...requiredBy(path, projectDir), ...named(path)]));
}

/** Pattern for names of files without a path: an alias or package in an import, a Rust module, a class. */
const ALIASES = /\b(?:from|import|require|mock)\b[ \t(]*["']([^."'][^"'\n]*)["']|^[ \t]*(?:pub )?mod (\w+);/gm;
const CLASSES = /\b[A-Z]\w+/g;
const HAS_CLASSES = /\.(?:java|kts?|scala|cs|fs|swift|php|dart|exs?|rb|groovy)$/;
const DEFINED_IN_GO = /^(?:func (?:\([^)]*\) ?)?|type |var |const )(?!(?:Test|Benchmark|Example|Fuzz))(\w+)/gm;

/** Finds the tests and doubles that code names without a path: by their name, their folder's, or in Go by what they define. */
function namedWithoutPath(projectDir: string): (by: string) => readonly string[] {
  const textOf = (path: string): string => (isCode(path) && bytesOf(join(projectDir, path))?.toString('utf8')) || '';
  const folded = (name: string): string => name.replace(/[_-]/g, '').toLowerCase();
  const nameOf = (path: string): string => {
    const name = basename(path, extname(path));
    return /^(?:index|mod|main|lib|src|__init__)$/.test(name) && path.includes('/') ? nameOf(dirname(path)) : name;
  };
  const namesOf = (path: string): string[] =>
    path.endsWith('_test.go')
      ? [...textOf(path).matchAll(DEFINED_IN_GO)].map(([, name = '']) => `${dirname(path)}/${name}`)
      : [folded(nameOf(path))];
  // The class of a factory usually belongs to the program.
  const isNamed = (path: string): boolean =>
    isCode(path) && (isTest(path) || (isDouble(path) && !HAS_CLASSES.test(path)));
  let known: Map<string, Set<string>> | null = null;
  return (by) => {
    const text = textOf(by);
    const modules = [...text.matchAll(ALIASES)].map(([, at = '', module]) => module ?? basename(at, extname(at)));
    const names = by.endsWith('.go')
      ? [...new Set(text.match(/\w+/g))].map((word) => `${dirname(by)}/${word}`)
      : [...modules, ...((HAS_CLASSES.test(by) && text.match(CLASSES)) || [])].map(folded);
    if (names.length === 0) return [];
    known ??= grouped(filesOf(projectDir, isNamed), namesOf);
    return [...new Set(names)].flatMap((name) => [...(known?.get(name) ?? [])]).filter((path) => path !== by);
  };
}

function grouped(values: readonly string[], keysOf: (value: string) => readonly string[]): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>();
  for (const value of values)
    for (const key of keysOf(value)) groups.set(key, (groups.get(key) ?? new Set()).add(value));
  return groups;
}

const QUOTED = /["'`]([\w.@-]*(?:\/[\w.@-]+)+)["'`]/g;
/** Pattern for files beside the file that names them: in Ruby, C, bats and a shell. */
const BESIDE = /(?:\brequire_relative|^#[ \t]*include|^[ \t]*(?:load|source|\.))[ \t(]+["']?([^"'\s()<>;]+)/gm;
const PYTHON = /^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([.\w]+))|["']((?:[a-z_]\w*\.)+\w+)["']/gm;

/** Returns the files of the same project that a code file names, as a module or by a path. */
function requiredBy(path: string, projectDir: string): string[] {
  const bytes = isCode(path) ? bytesOf(join(projectDir, path)) : null;
  if (bytes === null) return [];
  const text = bytes.toString('utf8');
  const folder = dirname(path);
  const stems = [
    ...[...text.matchAll(QUOTED)].flatMap(([, at = '']) =>
      at.startsWith('.') ? [join(folder, at)] : [at, join(folder, at)],
    ),
    ...[...text.matchAll(BESIDE)].flatMap(([, at = '']) => [at, join(folder, at)]),
    ...[...text.matchAll(PYTHON)].flatMap(([, from, whole, quoted]) =>
      modulePaths(from ?? whole ?? quoted ?? '', folder),
    ),
  ];
  const endings = ['', extname(path), '.js', '.ts', '.json', '.bash', `/index${extname(path)}`, '/__init__.py'];
  const found = new Set(stems.flatMap((stem) => [...endings, ...swapped(stem)].map((end) => withEnding(stem, end))));
  return [...found, ...loadedWith(path)].filter((each) => isProjectFile(projectDir, each));
}

/** Returns what pytest loads together with a test file that does not name it. */
function loadedWith(path: string): string[] {
  if (!path.endsWith('.py') || !isTest(path)) return [];
  const folders = dirname(path).split('/');
  return folders.map((_, index) => join(...folders.slice(0, index + 1), 'conftest.py')).concat('conftest.py');
}

/** Returns the extension that may replace that of a stem: TypeScript imports `./a.js` for a.ts. */
function swapped(stem: string): string[] {
  return /\.[cm]?jsx?$/.test(stem) ? [`-${extname(stem).replace('j', 't')}`] : [];
}

function withEnding(stem: string, end: string): string {
  const whole = end.startsWith('-') ? stem.slice(0, -extname(stem).length) + end.slice(1) : stem + end;
  return normalize(whole);
}

/** Returns the paths, without an extension, of a Python module: `.helper`, `tests.helper`, `helper`. */
function modulePaths(name: string, folder: string): string[] {
  const [, dots = '', rest = ''] = /^(\.*)(.*)$/.exec(name) ?? [];
  const inner = rest.replaceAll('.', '/');
  if (dots !== '') return [join(folder, ...Array.from({ length: dots.length - 1 }, () => '..'), inner)];
  return [inner, join(folder, inner)];
}
