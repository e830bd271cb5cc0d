import { lstatSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';
import type { TddScenario, TestHead } from '../../engine/schema/tdd.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { textAt } from '../pinned-scripts/contract-scripts.ts';
import { isProjectFile } from '../project-file.ts';
import {
  bytesOf,
  filesOf,
  isCode,
  isForTests,
  isInSources,
  isSnapshot,
  isTest,
  isTestCode,
  isTestData,
  withRequired,
} from './required-files.ts';

/**
 * Hashes of test files, by path relative to the project: SHA-256; for a snapshot, to which runs add lines, one hash per
 * line; `UNREADABLE` for a file that exists but cannot be read.
 */
export type TestFiles = Readonly<Record<string, string>>;

const UNREADABLE = 'unreadable';
/** Replaces the hash of a file that the command itself wrote: it may change. */
const BY_COMMAND = 'written by the command';

/** Returns the test files that exist but cannot be read. */
export function unreadableIn(tests: TestFiles): string[] {
  return Object.keys(tests).filter((path) => tests[path] === UNREADABLE);
}

/** Hashes the tests of a project and the data in their folders. */
export function testFiles(projectDir: string): TestFiles {
  return hashes(
    projectDir,
    filesOf(projectDir, (path) => isTestCode(path) || isTestData(path)),
  );
}

/**
 * Hashes the test files of a scenario: those that its command names and those changed since it began (`before`); if there are
 * none, all test code of the project. Adds the files that these require and that exist only for tests.
 */
export function testsOf({ run }: TddScenario, projectDir: string, before: TestFiles | undefined): TestFiles {
  const now = testFiles(projectDir);
  const isOurs = (path: string): boolean => isTestCode(path) || now[path] !== UNREADABLE;
  const changed = before === undefined ? [] : Object.keys(now).filter((path) => now[path] !== before[path]);
  const own = [...changed.filter(isOurs), ...namedBy(run, projectDir)];
  const all = withRequired(own.length === 0 ? Object.keys(now).filter(isCode) : own, projectDir);
  return marks(projectDir, [...all].toSorted());
}

/**
 * Hashes what these tests may use without naming it: mocks, test code in or named by the scripts of their command, what these
 * require, and their data.
 */
export function usedBy(tests: TestFiles, projectDir: string, scripts: readonly string[]): TestFiles {
  const named = scripts.flatMap((key) => [key, ...namedIn(textAt(projectDir, key))]);
  const configured = named.filter((path) => isForTests(path) && isProjectFile(projectDir, path));
  const code = [...configured, ...filesOf(projectDir, (path) => isCode(path) && SUPPORT.test(path))];
  return { ...marks(projectDir, [...withRequired(code, projectDir)]), ...dataFor(tests, projectDir) };
}

/** Hashes all data of the test folders, except the snapshots of other tests. */
function dataFor(tests: TestFiles, projectDir: string): TestFiles {
  const stems = Object.keys(tests).flatMap((path) => (isCode(path) ? [basename(path).replace(/\..*$/, '')] : []));
  const isRead = (path: string): boolean => !isSnapshot(path) || stems.some((stem) => basename(path).includes(stem));
  const found = Object.entries(testFiles(projectDir)).filter(([path, hash]) => isTestData(path) && hash !== UNREADABLE);
  return marks(projectDir, found.map(([path]) => path).filter(isRead));
}

/** Returns these hashes without the data that changed or appeared while the scenario's command ran, such as a report. */
export function withoutOutput(
  projectDir: string,
  tests: TestFiles,
): { readonly tests: TestFiles; readonly output: readonly string[] } {
  const now = { ...dataFor(tests, projectDir), ...marks(projectDir, Object.keys(tests)) };
  const paths = [...new Set([...Object.keys(tests), ...Object.keys(now)])];
  const output = paths.filter((path) => !isCode(path) && now[path] !== tests[path]);
  return { tests: { ...tests, ...Object.fromEntries(output.map((path) => [path, BY_COMMAND])) }, output };
}

/** Returns the hashes of files that the scenario added, or that its tests require. */
export function ownOf(tests: TestFiles, own: TestFiles): TestFiles {
  return Object.fromEntries(Object.entries(tests).filter(([path, hash]) => path in own && hash !== BY_COMMAND));
}

/** Returns what happened to test files since they were hashed, one text each. A snapshot may gain lines. */
export function changedTests(projectDir: string, then: TestFiles): string[] {
  const now = marks(projectDir, Object.keys(then));
  return Object.keys(then).flatMap((path) => {
    const hash = now[path];
    if (then[path] === BY_COMMAND) return [];
    if (isKept(then[path], hash) && hash !== UNREADABLE) return [];
    return [`${path} ${hash === undefined ? 'was removed' : hash === UNREADABLE ? 'cannot be read' : 'was changed'}`];
  });
}

/** Returns the code, loaded with the tests, that was added since the hashes were taken. */
export function addedTests(projectDir: string, then: TestFiles, before: TestFiles | undefined): string[] {
  const required = withRequired(Object.keys(then), projectDir);
  const isNew = (path: string): boolean => before !== undefined && before[path] === undefined;
  const loaded = filesOf(projectDir, (path) => LOADED.test(path) && isNew(path));
  return [...new Set([...required, ...loaded])].filter((path) => isCode(path) && then[path] === undefined);
}

/**
 * Returns the data that was added since the hashes were taken and that the tests name, with a stamp that changes with every
 * write, since a run of the tests may write it.
 */
export function addedData(projectDir: string, then: TestFiles): ReadonlyMap<string, string> {
  const required = withRequired(Object.keys(then), projectDir);
  const text = [...required].map((path) => (isCode(path) ? bytesOf(join(projectDir, path)) : '')).join('\n');
  const data = Object.keys(testFiles(projectDir)).filter((path) => isTestData(path) && isNamedIn(text, path));
  return new Map(
    [...new Set([...required, ...data])].flatMap((path) => {
      if (isCode(path) || isSnapshot(path) || then[path] !== undefined) return [];
      const stats = lstatSync(join(projectDir, path), { bigint: true, throwIfNoEntry: false });
      return stats === undefined ? [] : [[path, `${stats.ino} ${stats.mtimeNs}`] as const];
    }),
  );
}

/** Returns whether a test names a data file, or the folder below the tests that contains it. */
function isNamedIn(text: string, path: string): boolean {
  const [name = '', folder, ...above] = path.split('/').toReversed();
  return [name, ...(folder !== undefined && above.length > 0 ? [folder] : [])].some((word) => {
    const [before, after] = ['(?<![\\w-])', '(?![\\w-])'];
    return new RegExp(before + word.replace(/[^\w]/g, '\\$&') + after).test(text);
  });
}

/** Patterns for code that a test runner loads without an import; a conftest.py only with the tests below it. */
const SUPPORT = /(?:^|\/)(?:__mocks__|(?:cypress|spec)\/support)\//;
const LOADED = new RegExp(`${SUPPORT.source}|(?:^|\\/)conftest\\.py$`);

/** Returns whether two hashes mean the same content. A snapshot may have gained lines. */
export function isKept(then: string | undefined, now: string | undefined): boolean {
  if (then === now) return true;
  if (!then?.startsWith(LINES) || !now?.startsWith(LINES)) return false;
  const lines = then.split(' ');
  let met = 0;
  for (const line of now.split(' ')) if (line === lines[met]) met += 1;
  return met === lines.length;
}

/** Returns the path of a source file that itself contains tests, which no hash covers; null if there is none. */
export function testsInCode({ run }: TddScenario, projectDir: string): string | null {
  const [, ending, mark] = IN_CODE.find(([program]) => program.test(run)) ?? [];
  if (ending === undefined || mark === undefined) return null;
  const files = filesOf(projectDir, (path) => path.endsWith(ending) && !isTest(path));
  return files.find((path) => mark.test(bytesOf(join(projectDir, path))?.toString('utf8') ?? '')) ?? null;
}

/** Programs that run tests inside the code: by the command, the ending of the files, and what begins a test there. */
const IN_CODE: readonly (readonly [program: RegExp, ending: string, mark: RegExp])[] = [
  [/\b(?:cargo|make|just|bazel)\b|\.sh\b/, '.rs', /#\[(?:cfg\(test\)|(?:\w+::)*test\b)/],
  [/\bzig\b/, '.zig', /^[ \t]*test\s+["{\w]/m],
  [/\bdoctest\b/, '.py', /^[ \t]*>>> /m],
  [/\b(?:npm|npx|pnpm|yarn|bunx?|vitest)\b/, '.ts', /\bimport\.meta\.vitest\b/],
];

const LINES = 'lines';
const LINE_DIGITS = 8;

/** Hashes files for a later comparison, snapshots by their lines. */
function marks(projectDir: string, paths: readonly string[]): TestFiles {
  return hashes(projectDir, paths, (path, bytes) => {
    if (!isSnapshot(path) || isCode(path)) return sha256(bytes);
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '');
    return [LINES, ...lines.map((line) => sha256(line).slice(0, LINE_DIGITS))].join(' ');
  });
}

/** Hashes files; leaves out those that are missing. */
function hashes(
  projectDir: string,
  paths: readonly string[],
  mark: (path: string, bytes: Buffer) => string = (_, bytes) => sha256(bytes),
): TestFiles {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const bytes = bytesOf(join(projectDir, path));
      if (bytes !== null) return [[path, mark(path, bytes)]];
      return lstatSync(join(projectDir, path), { throwIfNoEntry: false }) === undefined ? [] : [[path, UNREADABLE]];
    }),
  );
}

/** Returns the paths that the configuration of a runner may name, such as its set-up. */
function namedIn(text: string): string[] {
  const words = new Set(text.split(/[^\w./@+-]+/).filter((word) => word !== ''));
  return ['.', 'spec'].flatMap((folder) =>
    [...words].flatMap((word) => ['', '.js', '.ts', '.rb'].map((ending) => join(folder, word + ending))),
  );
}

/** Returns the files that a command names, directly or in a folder, without the code under test. */
function namedBy(run: string, projectDir: string): string[] {
  const words = run.split(/[\s'"`;|&()<>=,]+/).map((word) => normalize(word.replace(/::.*$/, '')));
  const places = ['.', ...words.filter((word) => !word.startsWith('-'))];
  const paths = places.flatMap((place) => words.map((word) => normalize(join(place, word))));
  const found = [...new Set(paths)].filter((path) => !path.startsWith('..') && isProjectFile(projectDir, path));
  return found.filter((path) => isTest(path) || (!isInSources(path) && !/\.(?:rs|zig)$/.test(path)));
}

/** Pattern for an import at the left margin: an import inside a test belongs to that test. */
const IMPORT =
  /^(?:(?:import|from|use|using|#include|require(?:_relative)?)\s[^;=()]*|(?:const|let|var)\s[^=()]*=\s*require\(["'][^"']+["']\)[\w$.]*);?$/;
const CLOSING = /^[\s)\]};,]+$|^\s*end$/;
const DEFINES = /^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)/;

/** Returns the part of each test file of a proved scenario that has to stay. Leaves out files that differ from their hash. */
export function headsOf(projectDir: string, tests: TestFiles): Record<string, TestHead> {
  return Object.fromEntries(
    Object.entries(tests).flatMap(([path, hash]) => {
      const found = linesOf(projectDir, path, hash);
      if (found === null) return [];
      const { imports, body } = found;
      const end = body.findLastIndex((line) => !CLOSING.test(line)) + 1;
      return [[path, { imports, lines: end, head: hashOf(body.slice(0, end)), tail: body.slice(end) }] as const];
    }),
  );
}

/**
 * Returns whether a test file only gained imports, and tests at its end or in its last block. Any other change may weaken the
 * earlier tests.
 */
export function isGrown(
  projectDir: string,
  path: string,
  hash: string | undefined,
  then: TestHead | undefined,
): boolean {
  const found = hash === undefined ? null : linesOf(projectDir, path, hash);
  if (found === null || then === undefined) return false;
  const { imports, body } = found;
  const { lines, head, tail } = then;
  if (hashOf(body.slice(0, lines)) !== head) return false;
  if (!then.imports.every((line) => imports.some((now) => isExtended(now, line)))) return false;
  const names = definedIn(body.slice(0, lines));
  return Array.from({ length: tail.length + 1 }, (_, closing) => closing).some((closing) => {
    const kept = lines + tail.length - closing;
    const added = body.slice(kept, body.length - closing);
    const isSame = [...body.slice(lines, kept), ...body.slice(body.length - closing)].join('\n') === tail.join('\n');
    return (
      isSame &&
      body.length >= lines + tail.length &&
      isClosed(added) &&
      !definedIn(added).some((name) => names.includes(name))
    );
  });
}

/** Returns the non-blank lines, imports apart from the rest; null if the content does not match the hash. */
function linesOf(projectDir: string, path: string, hash: string): { imports: string[]; body: string[] } | null {
  const bytes = bytesOf(`${projectDir}/${path}`);
  if (bytes === null || sha256(bytes) !== hash) return null;
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .map((line) => (isCode(path) ? line.trimEnd() : line.trimEnd().replace(/,$/, '')));
  const said = lines.filter((line) => line !== '');
  return { imports: said.filter((line) => IMPORT.test(line)), body: said.filter((line) => !IMPORT.test(line)) };
}

function hashOf(lines: readonly string[]): string {
  return sha256(Buffer.from(lines.join('\n')));
}

/** Returns whether a line imports at least what the former one did, from the same place. */
function isExtended(now: string, then: string): boolean {
  const place = (line: string): string => [...line.matchAll(/["'<][^"'>]*["'>]|[^\w$,\s"'<>]/g)].join('');
  const words = [...now.matchAll(/[\w$]+/g)].map(([word]) => word);
  return place(now) === place(then) && [...then.matchAll(/[\w$]+/g)].every(([word]) => words.includes(word));
}

/** Returns whether these lines close only blocks that they open. */
function isClosed(lines: readonly string[]): boolean {
  let open = 0;
  for (const [sign] of lines.join('').matchAll(/[()[\]{}]/g)) {
    open += '([{'.includes(sign) ? 1 : -1;
    if (open < 0) return false;
  }
  return true;
}

/** Returns the names of functions and classes defined at the left margin: in Python, a later one replaces an earlier one. */
function definedIn(lines: readonly string[]): string[] {
  return lines.flatMap((line) => DEFINES.exec(line)?.[1] ?? []);
}
