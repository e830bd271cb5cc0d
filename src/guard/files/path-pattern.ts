import type { Guard } from '../guard.ts';
import { withoutEndSlashes } from '../own-files/comparable-path.ts';
import type { PathForms } from './path-forms.ts';
import { simpleGlob } from './simple-glob.ts';

/** One glob or policy of the user, and whether it covers a path. */
export interface PathPattern {
  readonly pattern: string;
  readonly covers: (forms: PathForms) => boolean;
  /** Its time grows with the path alone. */
  readonly isFast: boolean;
}

const POLICY = 'policy:';
/** Characters that make a glob more than a name. */
const WILD = '*?[](){}!+@\\';

/**
 * Compiles a glob or policy. A glob without a slash is matched with the name alone; one without wildcards covers
 * everything below it too. Throws for an unknown policy. Loads picomatch only if names and stars are not enough.
 */
export async function pathPattern(pattern: string, guard: Guard): Promise<PathPattern> {
  if (pattern === 'policy:secret-bearing-paths')
    return { pattern, covers: ({ placed }) => placed.some(isSecretBearing), isFast: true };
  if (pattern.startsWith(POLICY)) throw new Error(`the guardrails name a policy that is unknown here: ${pattern}`);
  const { caseInsensitive, home } = guard.rules;
  const named = pattern.startsWith('~/') ? `${home}${pattern.slice(1)}` : pattern;
  const whole = withoutEndSlashes(named) || named.slice(0, 1);
  const byName = !whole.includes('/');
  let glob = whole;
  while (glob.startsWith('./')) glob = glob.slice('./'.length);
  const simple = simpleGlob(glob, caseInsensitive);
  const itself = simple ?? (await import('./picomatch-glob.ts')).picomatchGlob(glob, caseInsensitive);
  const below = [...WILD].some((character) => glob.includes(character))
    ? null
    : literalBelow(glob, byName, caseInsensitive);
  return {
    pattern,
    isFast: simple !== null,
    covers: ({ names, paths }) =>
      (byName ? names : paths).some(itself) || (below !== null && paths.some((path) => below(path))),
  };
}

/** Matches everything below a folder that is named without wildcards: anywhere, or at this path. */
function literalBelow(folder: string, byName: boolean, caseInsensitive: boolean): (path: string) => boolean {
  const wanted = caseInsensitive ? folder.toLowerCase() : folder;
  return byName ? (path) => `/${path}`.includes(`/${wanted}/`) : (path) => path.startsWith(`${wanted}/`);
}

const SEGMENTS = new Set([
  ...['.aws', '.azure', '.gcloud', '.ssh', 'secrets', 'credentials', 'ops-secrets', 'credentials-prod'],
]);
const NAMES = new Set(['.npmrc', '.pypirc', '.netrc']);
const SUFFIX = /\.(?:pem|key|asc)$/;

/** Returns whether policy:secret-bearing-paths covers a path. Ignores case on every file system. */
export function isSecretBearing(path: string): boolean {
  const segments = path.toLowerCase().split('/');
  const name = segments.at(-1) ?? '';
  if (NAMES.has(name) || SUFFIX.test(name)) return true;
  return segments.some((segment) => SEGMENTS.has(segment) || segment.startsWith('.env'));
}
