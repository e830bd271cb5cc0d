import { isLetterOrDigit } from '../../text/characters.ts';
import { comparablePath, withoutEndSlashes } from '../comparable-path.ts';
import type { Guard } from '../guard.ts';
import { absolutePath } from '../own-files/own-files.ts';
import { matchesGlob, matchesTokens, type Token } from '../shell/glob.ts';
import { UNKNOWN } from '../shell/shell-reading.ts';

/** A glob or policy of the user, and a test for the paths that it covers. */
export interface PathPattern {
  readonly pattern: string;
  readonly covers: (forms: PathForms) => boolean;
  /** True if its time depends only on the length of the path. */
  readonly isFast: boolean;
}

const POLICY = 'policy:';
const WILD = '*?[](){}!+@\\';

type GlobMatcher = (glob: string, caseInsensitive: boolean) => (path: string) => boolean;

/**
 * Compiles a glob or policy. A glob without a slash matches names; one without wildcards also covers everything below it.
 * Throws for an unknown policy. Loads picomatch only for more than names and stars.
 */
export async function pathPattern(pattern: string, guard: Guard): Promise<PathPattern> {
  const simple = compilePattern(pattern, guard, null);
  return simple ?? compilePattern(pattern, guard, (await import('./picomatch-glob.ts')).picomatchGlob);
}

/** Compiles a glob or policy, with a matcher for globs beyond names and stars; null if one is needed but missing. */
export function compilePattern(pattern: string, guard: Guard, otherGlobs: GlobMatcher): PathPattern;
export function compilePattern(pattern: string, guard: Guard, otherGlobs: GlobMatcher | null): PathPattern | null;
export function compilePattern(pattern: string, guard: Guard, otherGlobs: GlobMatcher | null): PathPattern | null {
  const policy = POLICIES.get(pattern);
  if (policy !== undefined) return { pattern, covers: ({ placed }) => placed.some(policy), isFast: true };
  if (pattern.startsWith(POLICY)) throw new Error(`the guardrails name a policy that is unknown here: ${pattern}`);
  const { caseInsensitive, home } = guard.rules;
  const named = pattern.startsWith('~/') ? `${home}${pattern.slice(1)}` : pattern;
  const whole = withoutEndSlashes(named) || named.slice(0, 1);
  const byName = !whole.includes('/');
  let glob = whole;
  while (glob.startsWith('./')) glob = glob.slice('./'.length);
  const simple = simpleGlob(glob, caseInsensitive);
  if (simple === null && otherGlobs === null) return null;
  const itself = simple ?? otherGlobs?.(glob, caseInsensitive) ?? (() => false);
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

/** Matches everything below a folder named without wildcards: anywhere, or at this path. */
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

/** Returns whether a file can start programs later: start files, keys, git settings, timers, tools of the client. */
function startsPrograms(path: string): boolean {
  // V8 takes a fifth of a millisecond to parse an expression that ignores case, so it is created only where it is used.
  return /(^|\/)(\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|inputrc|pam_environment|gitconfig|npmrc|mcp\.json|envrc)|\.ssh(\/.*)?|\.git\/(hooks|config)(\/.*)?|\.config\/(git|fish|systemd|autostart|environment\.d)(\/.*)?|\.claude\/(agents|skills|commands|hooks)(\/.*)?|launchagents(\/.*)?)$|^\/etc\/(cron|profile|systemd|init)|^\/var\/spool\/cron/i.test(
    path,
  );
}

const POLICIES: ReadonlyMap<string, (path: string) => boolean> = new Map([
  ['policy:secret-bearing-paths', isSecretBearing],
  ['policy:persistence-paths', startsPrograms],
]);

/** A path under all names by which a user's glob may refer to it. */
export interface PathForms {
  /** Paths as given, absolute, resolved through symlinks, and relative to the project. */
  readonly paths: readonly string[];
  readonly names: readonly string[];
  /** Paths relative to the project if inside it, otherwise absolute: the project's own location is not a secret. */
  readonly placed: readonly string[];
}

/** Placeholder for a part known only at run time: only `*` matches it. */
const ANYTHING = '\ufffd';

/** Returns the forms of a path as given. Unknown parts stay unknown, and symlinks are then not resolved. */
export function pathForms(path: string, cwd: string, guard: Guard): PathForms {
  if (path.includes(UNKNOWN) || (cwd.includes(UNKNOWN) && !path.startsWith('/'))) {
    const template = absolutePath(path, cwd);
    const known = template.replaceAll(UNKNOWN, ANYTHING);
    const isPlaced = known.startsWith(ANYTHING) || isScratch(template, guard);
    return formsOf(isPlaced ? known : path.replaceAll(UNKNOWN, ANYTHING), [known], guard);
  }
  const absolute = absolutePath(path, cwd);
  return formsOf(isScratch(absolute, guard) ? absolute : path, [absolute, guard.real(absolute)], guard);
}

/** Temporary folders: a file there only shares its name with a file that is protected by name. */
export const SCRATCH = /^\/(?:private\/)?(?:tmp|var\/(?:tmp|folders))\//;

/** Returns whether a path is surely in a temporary folder outside the project. A path relative to it is not the project's. */
function isScratch(path: string, { project, rules }: Guard): boolean {
  if (!SCRATCH.test(path)) return false;
  if (path.includes(UNKNOWN)) return !project.some((folder) => SCRATCH.test(`${folder}/`));
  return relativeTo(project, comparablePath(path, rules.caseInsensitive)) === null;
}

/** Returns the forms of a path below a directory with both names known. */
export function formsBelow(rest: string, directory: string, realDirectory: string, guard: Guard): PathForms {
  return formsOf(`${directory}/${rest}`, [`${directory}/${rest}`, `${realDirectory}/${rest}`], guard);
}

function formsOf(given: string, absolute: readonly string[], guard: Guard): PathForms {
  const { caseInsensitive } = guard.rules;
  const whole = [...new Set(absolute.map((each) => comparablePath(each, caseInsensitive)))];
  const relative = whole.map((each) => relativeTo(guard.project, each));
  const inside = relative.filter((each) => each !== null);
  return {
    paths: [...new Set([comparablePath(given, caseInsensitive), ...whole, ...inside])],
    names: [...new Set(whole.map((each) => each.slice(each.lastIndexOf('/') + 1)))],
    placed: whole.map((each, index) => relative[index] ?? each),
  };
}

function relativeTo(projects: readonly string[], path: string): string | null {
  for (const project of projects) {
    if (path === project) return '.';
    if (path.startsWith(`${project}/`)) return path.slice(project.length + 1);
  }
  return null;
}

/** Allowed characters besides letters and digits. */
const SIMPLE = '_.- /*';

/** Matches a glob of names, `*` and `**` like picomatch with `dot`, in linear time. null for all other globs. */
export function simpleGlob(glob: string, caseInsensitive: boolean): ((path: string) => boolean) | null {
  const segments = glob.split('/');
  // `a*/**` and `/**/a` have special cases that only picomatch handles.
  if (!isNamesAndStars(glob) || glob.endsWith('*/**') || glob.startsWith('/**')) return null;
  if (!segments.every(isSimple)) return null;
  const tokens = segments.map(
    (segment): Token => (segment === '**' ? 'star' : (name) => matchesName(segment, name, caseInsensitive)),
  );
  return (path) => matchesTokens(tokens, path.split('/'), isPassable);
}

/** Accepts nearly every glob that users write, without a regular expression, which is compiled on its second use. */
function isNamesAndStars(glob: string): boolean {
  for (let at = 0; at < glob.length; at += 1) {
    if (!isLetterOrDigit(glob.charCodeAt(at)) && !SIMPLE.includes(glob.charAt(at))) return false;
  }
  return glob !== '';
}

function isSimple(segment: string, index: number): boolean {
  if (segment === '') return index === 0;
  return segment === '**' || (isPassable(segment) && !segment.includes('**'));
}

function matchesName(segment: string, name: string, caseInsensitive: boolean): boolean {
  if (name === '') return segment === '' || segment === '*';
  return (isPassable(name) || !segment.includes('*')) && matchesGlob(segment, name, caseInsensitive);
}

/** Returns whether a wildcard may match this name: not those of a directory itself and its parent. */
function isPassable(name: string): boolean {
  return name !== '.' && name !== '..';
}
