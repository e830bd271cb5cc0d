import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';

/**
 * Where a path really leads: symlinks of its nearest existing ancestor resolved, as the kernel does it
 * (`link/../x` is beside the target of the link; node's own realpathSync resolves `..` before it looks at links).
 * The rest of the path need not exist.
 */
export function realPath(path: string): string {
  const absolute = isAbsolute(path) ? path : resolve(path);
  let existing = absolute;
  let missing = '';
  // A path has few segments; a longer one than this is no file name that the system accepts.
  for (let steps = 0; steps < 256; steps += 1) {
    try {
      return join(realpathSync.native(existing), missing);
    } catch {
      const cut = existing.replace(/[/\\]+$/, '');
      const parent = dirname(cut);
      if (parent === existing || parent === cut) break;
      missing = join(cut.slice(parent.length).replace(/^[/\\]/, ''), missing);
      existing = parent;
    }
  }
  return normalize(absolute);
}
