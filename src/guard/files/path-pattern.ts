import picomatch from 'picomatch/posix.js';
import type { Guard } from '../guard.ts';
import type { PathForms } from './path-forms.ts';
import { isSecretBearing } from './secret-bearing.ts';

/** One glob or policy of the user, and whether it covers a path. */
export interface PathPattern {
  readonly pattern: string;
  readonly covers: (forms: PathForms) => boolean;
}

const POLICY = 'policy:';

/**
 * What a glob or a policy covers: picomatch's semantics, dot files included, a glob without a slash held against the
 * name alone. A glob without wildcards covers what lies below it too. Throws for a policy that is none.
 */
export function pathPattern(pattern: string, guard: Guard): PathPattern {
  return { pattern, covers: coverOf(pattern, guard) };
}

function coverOf(pattern: string, guard: Guard): (forms: PathForms) => boolean {
  if (pattern === 'policy:secret-bearing-paths') return (forms) => forms.placed.some(isSecretBearing);
  if (pattern.startsWith(POLICY)) throw new Error(`the guardrails name a policy that is unknown here: ${pattern}`);
  const options = { dot: true, nocase: guard.rules.caseInsensitive };
  const home = pattern.startsWith('~/') ? `${guard.rules.home}${pattern.slice(1)}` : pattern;
  const whole = home.replace(/(?<=.)\/+$/, '');
  const byName = !whole.includes('/');
  const glob = whole.replace(/^(\.\/)+/, '');
  const itself = picomatch(glob, options);
  const below = /[*?[\](){}!+@\\]/.test(glob) ? null : picomatch(byName ? `**/${glob}/**` : `${glob}/**`, options);
  return ({ names, paths }) =>
    (byName ? names : paths).some((each) => itself(each)) || (below !== null && paths.some((each) => below(each)));
}
