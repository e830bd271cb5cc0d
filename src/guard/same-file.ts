import { statSync } from 'node:fs';
import type { ProtectedPath } from './protected-paths.ts';

/** Another name (hard link) of a protected file. One stat for a target with a single name, which is nearly every one. */
export function hardLinkOf(target: string, entries: readonly ProtectedPath[]): ProtectedPath | undefined {
  const stat = statSync(target, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.nlink < 2) return undefined;
  return entries.find((entry) => {
    if (entry.prefix) return false;
    const own = statSync(entry.path, { throwIfNoEntry: false });
    return own !== undefined && own.ino === stat.ino && own.dev === stat.dev;
  });
}
