import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';

/** null where nothing lies there, or nothing that this user may reach. Asked first: an exception costs ten times as much. */
function realPathOf(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    return realpathSync.native(path);
  } catch {
    return null; // gone meanwhile, or a way that may not be read
  }
}

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
    const real = realPathOf(existing);
    if (real !== null) return join(real, missing);
    const parent = dirname(existing);
    if (parent === existing) break;
    missing = join(basename(existing), missing);
    existing = parent;
  }
  return normalize(absolute);
}
