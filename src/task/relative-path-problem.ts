/** null when this is a plain relative path of a file inside the project, else what is wrong with it. */
export function relativePathProblem(path: string): string | null {
  return relativeGlobProblem(path) ?? (path.split('/').includes('.') ? 'must have no "." segment' : null);
}

/** The same for a glob, in which a leading `./` is harmless. */
export function relativeGlobProblem(glob: string): string | null {
  if (glob.trim() === '') return 'must not be blank';
  if (glob !== glob.trim()) return 'must not begin or end with white space';
  if (/[\u0000-\u001f\u007f]/.test(glob)) return 'must have no control character';
  if (/^[a-zA-Z]:/.test(glob)) return 'must have no drive letter';
  if (glob.includes('\\')) return 'must have no backslash (use /)';
  if (glob.startsWith('/') || glob.endsWith('/')) return 'must be relative, without a slash at its beginning or end';
  return glob.split('/').includes('..') ? 'must have no ".." segment' : null;
}
