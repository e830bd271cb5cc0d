import picomatch from 'picomatch/posix.js';

/** Matches any glob; by a regular expression, which may take its time over a long path. */
export function picomatchGlob(glob: string, caseInsensitive: boolean): (path: string) => boolean {
  const matches = picomatch(glob, { dot: true, nocase: caseInsensitive });
  return (path) => matches(path);
}
