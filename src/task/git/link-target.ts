import { dirname, isAbsolute, resolve } from 'node:path';
import { realPathOf } from '../../state/files/regular-file.ts';
import { isWithin, prefixInRepository } from '../project-file.ts';
import { WORKTREES } from '../task-file.ts';

/**
 * Where a link leads: `within` what a clone contains; to a `path` of this project or of the one whose worktree it is, which
 * only this checkout has; or `outside` the repository.
 */
export type LinkTarget = 'within' | 'path' | 'outside';

/** Returns where the link at a path of a work tree leads. */
export function linkTarget(directory: string, path: string, target: string): LinkTarget {
  const place = resolve(directory, dirname(path), target);
  const prefix = prefixInRepository(directory) ?? '';
  if (!isAbsolute(target) && isWithin(resolve(directory, prefix.replaceAll(/[^/]+/g, '..')), place)) return 'within';
  const [main = directory] = directory.split(`/${WORKTREES}/`);
  const isOfProject = [main, realPathOf(main)].some((root) => root !== null && isWithin(root, place));
  return isOfProject ? 'path' : 'outside';
}

/** A link that a commit has, relative to the root of the work tree, and its text. */
export interface CommittedLink {
  readonly path: string;
  readonly target: string;
}

/** Returns the links that came or changed between two commits; `git` returns what git prints. */
export function changedLinks(git: (...words: string[]) => string, from: string, to: string): CommittedLink[] {
  const parts = git('diff', '--raw', '--no-abbrev', '--no-renames', '-z', from, to).split('\0');
  return parts.flatMap((part, index) => {
    const [, object] = /^:\d+ 120000 \w+ (\w+)/.exec(part) ?? [];
    return object === undefined ? [] : [{ path: parts[index + 1] ?? '', target: git('cat-file', 'blob', object) }];
  });
}
