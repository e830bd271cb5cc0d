import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quoted } from '../../core/quoted.ts';

/**
 * What to say where git knows of no repository and a `.git` lies at or above this folder all the same: it belongs to
 * another user, as in many containers, or its configuration is broken. null where there is none.
 */
export function unopenedText(directory: string): string | null {
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) {
      return `git does not open the repository ${at}; git status says why. Where it belongs to another user: git config --global --add safe.directory ${quoted(at)}`;
    }
    if (at === dirname(at)) return null;
  }
}
