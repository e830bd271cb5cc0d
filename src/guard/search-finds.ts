import { comparablePath } from './comparable-path.ts';
import { realPath } from './real-path.ts';
import { matchesGlob } from './shell/glob.ts';
import type { SearchedTree } from './shell/shell-reading.ts';
import { UNKNOWN } from './shell/shell-reading.ts';

/** Would this search come upon the path: below one of its roots, with one of its names at some level? */
export function searchFinds(under: SearchedTree, path: string, caseInsensitive: boolean): boolean {
  return under.roots.some((root) => {
    if (root.includes(UNKNOWN)) return false;
    return [root, realPath(root)].some((form) => {
      const directory = comparablePath(form, caseInsensitive);
      if (path !== directory && directory !== '/' && !path.startsWith(`${directory}/`)) return isAbove(path, directory);
      if (under.names.length === 0) return true;
      const below = path.slice(directory.length).split('/').filter(Boolean);
      const names = below.length === 0 ? [path.slice(path.lastIndexOf('/') + 1)] : below;
      return names.some((name) => under.names.some((glob) => matchesGlob(glob, name, caseInsensitive)));
    });
  });
}

/** A search inside a protected directory finds nothing but protected files. */
function isAbove(path: string, directory: string): boolean {
  return directory.startsWith(`${path}/`);
}
