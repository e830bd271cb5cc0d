import type { TestHead } from '../../engine/schema/tdd.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { bytesOf } from './required-files.ts';
import type { TestFiles } from './test-files.ts';
import { isCode } from './test-paths.ts';

/** At the left margin only: one inside a test belongs to it. */
const IMPORT =
  /^(?:(?:import|from|use|using|#include|require(?:_relative)?)\s[^;=()]*|(?:const|let|var)\s[^=()]*=\s*require\(["'][^"']+["']\)[\w$.]*);?$/;
const CLOSING = /^[\s)\]};,]+$|^\s*end$/;
const DEFINES = /^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)/;

/** Returns what has to stay of the test files of a proved scenario; leaves out those that differ from their hash. */
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
 * Returns whether a test file only got new tests at its end, or in the last block there, and new imports. Everything else may
 * weaken the tests that were there.
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

/** Returns the lines that say something; null for a file whose content is not that of the hash. */
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

/** Returns whether a line imports what the former one did, from the same place. */
function isExtended(now: string, then: string): boolean {
  const place = (line: string): string => [...line.matchAll(/["'<][^"'>]*["'>]|[^\w$,\s"'<>]/g)].join('');
  const words = [...now.matchAll(/[\w$]+/g)].map(([word]) => word);
  return place(now) === place(then) && [...then.matchAll(/[\w$]+/g)].every(([word]) => words.includes(word));
}

/** Returns whether no line closes a block that began before. */
function isClosed(lines: readonly string[]): boolean {
  let open = 0;
  for (const [sign] of lines.join('').matchAll(/[()[\]{}]/g)) {
    open += '([{'.includes(sign) ? 1 : -1;
    if (open < 0) return false;
  }
  return true;
}

/** Returns the names of functions and classes at the left margin, of which a later one replaces a former one in Python. */
function definedIn(lines: readonly string[]): string[] {
  return lines.flatMap((line) => DEFINES.exec(line)?.[1] ?? []);
}
