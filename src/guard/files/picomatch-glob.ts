import picomatch from 'picomatch/posix.js';

/** Matches any glob, by a regular expression that may take long for a long path. */
export function picomatchGlob(glob: string, caseInsensitive: boolean): (path: string) => boolean {
  const matches = picomatch(glob, { dot: true, nocase: caseInsensitive });
  return (path) => matches(path);
}
