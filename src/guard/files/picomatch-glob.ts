import picomatch from 'picomatch/posix.js';

/** Matches any glob, also in names with line ends, by a regular expression that may take long for a long path. */
export function picomatchGlob(glob: string, caseInsensitive: boolean): (path: string) => boolean {
  const matches = picomatch(glob, { dot: true, flags: caseInsensitive ? 'is' : 's' });
  return (path) => matches(path);
}
