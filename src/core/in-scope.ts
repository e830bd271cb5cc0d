/** Whether a glob has something that stands for other characters. */
export function isGlob(entry: string): boolean {
  return /[*?[\]{}!]/.test(entry);
}

/**
 * Whether a path, relative to the project with `/` between its parts, lies in a scope: paths, each with all that is
 * below it, and globs; one without a slash is held against the name alone. An empty scope is the whole project. What
 * lies outside the project is in no scope.
 */
export function inScope(
  path: string,
  scope: readonly string[],
  matchesGlob: (glob: string, path: string) => boolean,
): boolean {
  if (path.startsWith('../')) return false;
  if (scope.length === 0) return true;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return scope.some((entry) => {
    if (entry === '' || entry === '.') return true;
    // A folder may be called `[id]`.
    if (path === entry || path.startsWith(`${entry}/`)) return true;
    if (!isGlob(entry)) return false;
    return matchesGlob(entry, entry.includes('/') ? path : name) || matchesGlob(`${entry}/**`, path);
  });
}
