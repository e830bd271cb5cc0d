import picomatch from 'picomatch';
import type { Policy } from '../../engine/schema/contract.ts';

/** Pattern of the names in `{{ commands.NAME }}` and `{{ args.NAME }}`. */
export const ARGUMENT_NAME = /^\w[\w-]*$/;

export function nameProblem(name: string): string | null {
  if (!ARGUMENT_NAME.test(name)) return 'must be letters, digits, "_" and "-", not beginning with "-"';
  if (name.length > 64) return 'must have at most 64 characters';
  // As a key of a plain object, the name would be lost.
  return name === '__proto__' ? "must be another name: this one is JavaScript's own" : null;
}

function textProblem(text: string): string | null {
  if (text.trim() === '') return 'must not be blank';
  if (text !== text.trim()) return 'must not begin or end with white space';
  return /[\u0000-\u001f\u007f]/.test(text) ? 'must have no control character' : null;
}

export function relativePathProblem(path: string): string | null {
  return relativeProblem(path) ?? (path.split('/').includes('.') ? 'must have no "." segment' : null);
}

/** Globs add up, so one that means "all but these" would include everything else. */
export function relativeGlobProblem(glob: string): string | null {
  return relativeProblem(glob) ?? negatedProblem(glob);
}

function negatedProblem(glob: string): string | null {
  return /^!(?!\()/.test(glob) ? 'must not begin with "!", which takes in every other file' : null;
}

function relativeProblem(glob: string): string | null {
  const problem = textProblem(glob);
  if (problem !== null) return problem;
  if (/^[a-zA-Z]:/.test(glob)) return 'must have no drive letter';
  if (glob.includes('\\')) return 'must have no backslash (use /)';
  if (glob.startsWith('/') || glob.endsWith('/')) return 'must be relative, without a slash at its beginning or end';
  return glob.split('/').includes('..') ? 'must have no ".." segment' : null;
}

/** Returns the problem of a path (absolute, from ~/ or the project), or null. Pattern characters would change a rule. */
export function placeProblem(path: string): string | null {
  if (path.trim() === '') return 'must not be blank';
  if (path !== path.trim()) return 'must not begin or end with white space';
  if (/[\u0000-\u001f\u007f*?[\]{}()\\!]/.test(path)) return 'must be a path without pattern or control characters';
  return /^~[^/]/.test(path) ? 'must name a home as ~/' : null;
}

export function domainProblem(domain: string): string | null {
  return /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?$/i.test(domain)
    ? null
    : 'must be a domain such as example.com or *.example.com';
}

export function webAddressProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol)
    ? null
    : 'must be an address that begins with https:// or http://';
}

const POLICIES = ['policy:secret-bearing-paths', 'policy:persistence-paths'];

/** Unrelated paths: a glob that matches all of them matches everything. */
const UNRELATED = ['a', 'Makefile', '.env', 'src/index.ts', 'docs/deep/er/page.md', 'x/y.tar.gz', '_/-', '0/1/2/3'];
const MAX_GLOB_LENGTH = 1000;

export function guardedGlobProblem(glob: string): string | null {
  const problem = textProblem(glob);
  if (problem !== null) return problem;
  if (glob.length > MAX_GLOB_LENGTH) return `must have at most ${MAX_GLOB_LENGTH} characters`;
  if (glob.startsWith('policy:'))
    return POLICIES.includes(glob) ? null : `must name a known policy (${POLICIES.join(', ')})`;
  const all = 'must not match everything: nothing would be left to work on. Name the files or folders';
  return negatedProblem(glob) ?? (matchesEverything(glob) ? all : null);
}

function matchesEverything(glob: string): boolean {
  const forms = [glob, glob.replace(/^\.?\//, '')];
  return forms.some((form) => {
    const matches = form === '' ? () => true : picomatch(form, { dot: true, basename: true });
    return UNRELATED.every((path) => matches(path));
  });
}

/** Returns why a loop with this budget cannot start, or null: a cost limit requires that the cost is known. */
export function costProblem(budget: Policy['budget'], costIsKnown: boolean): string | null {
  if (budget.maxCostUsd === null || costIsKnown) return null;
  return `budget.max_cost is $${budget.maxCostUsd}, but the client reports the cost only to ralph-loop run and to the launcher in a terminal. Use one of these, or limit budget.max_tokens or budget.max_time instead.`;
}
