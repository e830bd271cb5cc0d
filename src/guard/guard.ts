import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { GuardRules } from './guard-rules.ts';
import { comparableForms, comparablePath, type RealPath, realPaths } from './own-files/comparable-path.ts';

export interface Guard {
  readonly rules: GuardRules;
  readonly own: readonly ProtectedPath[];
  /** Comparable form, as given and real. */
  readonly project: readonly string[];
  /** Copies of the control program and launchers, as given and real. */
  readonly control: readonly string[];
  /** Resolves symlinks by one look at each path: a guard evaluates one call. */
  readonly real: RealPath;
}

export function prepareGuard(rules: GuardRules): Guard {
  const { projectDir, controlProgram, caseInsensitive } = rules;
  const real = realPaths();
  return {
    rules,
    own: protectedPaths(rules, real),
    project: comparableForms(projectDir, caseInsensitive, real),
    control: controlProgram.flatMap((path) => comparableForms(path, caseInsensitive, real)),
    real,
  };
}

export interface ProtectedPath {
  readonly path: string;
  /** `path` is the beginning of file names, not a whole name. */
  readonly prefix: boolean;
  /** As the rules give it, for messages. */
  readonly label: string;
}

/** The loop's own files as given and where symlinks really put them. */
function protectedPaths(rules: GuardRules, real: RealPath): ProtectedPath[] {
  const entries: ProtectedPath[] = [];
  const seen = new Set<string>();
  const add = (path: string, prefix: boolean, label: string): void => {
    const comparable = comparablePath(path, rules.caseInsensitive);
    if (seen.has(comparable)) return;
    seen.add(comparable);
    entries.push({ path: comparable, prefix, label });
  };
  for (const path of rules.ownFiles) for (const each of [path, real(path)]) add(each, false, path);
  for (const { dir, prefix } of rules.ownGlobs ?? [])
    for (const each of [dir, real(dir)]) add(join(each, prefix), true, join(dir, `${prefix}*`));
  for (const { dir, name } of rules.ownNames ?? []) {
    for (const below of existsSync(dir) ? readdirSync(dir) : []) {
      const path = join(dir, below, name);
      if (existsSync(path)) for (const each of [path, real(path)]) add(each, false, path);
    }
  }
  return entries;
}

/** The own file that this path (comparable) would be by its name, whether or not its folder is there yet. */
export function ownByName(
  path: string,
  { rules: { ownNames = [], caseInsensitive }, real }: Guard,
): ProtectedPath | undefined {
  const own = ownNames.find(({ dir, name }) =>
    [dir, real(dir)].some(
      (each) => path.startsWith(`${comparablePath(each, caseInsensitive)}/`) && path.endsWith(`/${name}`),
    ),
  );
  return own === undefined ? undefined : { path, prefix: false, label: path };
}

export function isInside(target: string, entry: ProtectedPath): boolean {
  return target.startsWith(entry.prefix ? entry.path : `${entry.path}/`) || target === entry.path;
}

export function holds(directory: string, entry: ProtectedPath): boolean {
  return directory === '/' || entry.path.startsWith(`${directory}/`);
}

/** Returns whether a text names the protected path; a common file name counts only with its directory's name. */
export function mentions(text: string, entry: ProtectedPath): boolean {
  const folded = text.toLowerCase();
  const segments = entry.path.toLowerCase().split('/');
  const name = segments.at(-1) ?? '';
  if (!folded.includes(name)) return false;
  return isDistinctive(name) || folded.includes(segments.at(-2) ?? '');
}

/** A name that no other program's file is likely to have. */
export function isDistinctive(name: string): boolean {
  return /ralph|^\.claude$|^settings\.local\.json$/i.test(basename(name)) || basename(name).length > 20;
}
