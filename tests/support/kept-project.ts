import { cpSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import type { Project } from './project.ts';

const kept = new Map<unknown, { readonly p: Project }>();

/**
 * Returns what `make` has made for this key, once for all tests of a process: the same project in its folder as it was then,
 * however a test has left it. The loop that a test only looks at, undoes or verifies runs once.
 */
export function keptProject<T extends { readonly p: Project }>(key: unknown, make: (atExit: TestContext) => T): T {
  const atExit = { after: (work: () => void) => void process.once('exit', work) } as TestContext;
  const made = kept.get(key) as T | undefined;
  const one = made ?? make(atExit);
  const base = dirname(one.p.dir);
  const copy = `${base}-kept`;
  const [from, to] = made === undefined ? [base, copy] : [copy, base];
  if (made === undefined) atExit.after(() => rmSync(copy, { recursive: true, force: true }));
  else rmSync(base, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  kept.set(key, one);
  return one;
}
