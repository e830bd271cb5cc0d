import { isLetterOrDigit } from '../../text/characters.ts';
import { matchesGlob, matchesTokens, type Token } from '../shell/glob.ts';

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

/** Accepts nearly every glob that users write. Avoids a regular expression, which is compiled on its second use. */
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

/** Returns whether a wildcard may match this name: not the names of a directory itself or its parent. */
function isPassable(name: string): boolean {
  return name !== '.' && name !== '..';
}
