import picomatch from 'picomatch';

/** The built-in sets of paths, as a list of globs names them. */
const POLICIES = ['policy:secret-bearing-paths'];

/** Paths that have nothing in common: what matches them all matches everything. */
const UNRELATED = ['a', 'Makefile', '.env', 'src/index.ts', 'docs/deep/er/page.md', 'x/y.tar.gz', '_/-', '0/1/2/3'];
const MAX_LENGTH = 1000;

/** null when this glob, or policy by name, can guard files, else what is wrong with it. */
export function guardedGlobProblem(glob: string): string | null {
  if (glob.trim() === '') return 'must not be blank';
  if (glob !== glob.trim()) return 'must not begin or end with white space';
  if (/[\u0000-\u001f\u007f]/.test(glob)) return 'must have no control character';
  if (glob.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  if (glob.startsWith('policy:')) {
    return POLICIES.includes(glob) ? null : `must name a known policy (${POLICIES.join(', ')})`;
  }
  return matchesEverything(glob)
    ? 'must not match everything: nothing would be left to work on. Name the files or folders'
    : null;
}

function matchesEverything(glob: string): boolean {
  const forms = [glob, glob.replace(/^\.?\//, '')];
  return forms.some((form) => {
    const matches = form === '' ? () => true : picomatch(form, { dot: true, basename: true });
    return UNRELATED.every((path) => matches(path));
  });
}
