import { hitByGlob } from './glob-hit.ts';
import type { Guard } from './guard.ts';
import { hitByCopy, hitByRemoval, hitByTree, hitByWrite, isBelowProject, ownFilesIn } from './own-files.ts';
import type { ProtectedPath } from './protected-paths.ts';
import { searchFinds } from './search-finds.ts';
import { matchesGlob } from './shell/glob.ts';
import type { PathUse, SearchedTree } from './shell/shell-reading.ts';
import { UNKNOWN } from './shell/shell-reading.ts';
import { hitByTemplate } from './template-hit.ts';

/** The protected path that a write of a shell command changes; undefined when none is seen. */
export function hitByPathUse(use: PathUse, guard: Guard): ProtectedPath | undefined {
  const { word, cwdTemplate, how } = use;
  if (how === 'read' || how === 'git-tracked') return undefined;
  const removes =
    how === 'delete' ||
    how === 'move' ||
    (how === 'mode' && use.recursive === true) ||
    how === 'git-path' ||
    how === 'git-clean';
  if (word.under !== undefined) return hitBySearch(word.under, guard);
  const relative = !word.template.startsWith('/');
  if (word.text === null || (relative && cwdTemplate.includes(UNKNOWN))) {
    return hitByTemplate(word.template, cwdTemplate, removes, guard);
  }
  if (word.pattern !== undefined) {
    // git's own globs cross directories.
    if (use.by === 'git')
      return hitByTemplate(word.template.replace(/[*?]|\[[^\]]*\]/g, UNKNOWN), cwdTemplate, removes, guard);
    return hitByGlob(word.pattern, cwdTemplate, removes, guard);
  }
  return hitByLiteral(use, word.text, cwdTemplate, guard);
}

function hitByLiteral(use: PathUse, path: string, cwd: string, guard: Guard): ProtectedPath | undefined {
  if (path === '') return undefined;
  switch (use.how) {
    case 'redirect':
    case 'argument':
    case 'copy':
    case 'link':
    case 'patch':
      return hitByWrite(path, cwd, guard);
    case 'link-source':
      return hitByWrite(path, cwd, guard) ?? ownFilesIn(path, cwd, guard)[0];
    case 'delete':
    case 'move':
      return hitByRemoval(path, cwd, use.recursive === true, guard);
    case 'mode':
      if (use.recursive === true) return hitByTree(path, cwd, guard);
      // A directory that may not be written to stops the loop from saving its state.
      return hitByWrite(path, cwd, guard) ?? ownFilesIn(path, cwd, guard)[0];
    case 'copy-into': {
      const from = use.from?.text;
      return from === null || from === undefined ? undefined : hitByCopy(from, path, cwd, guard);
    }
    case 'extract':
      return hitByWrite(path, cwd, guard) ?? ownFilesIn(path, cwd, guard)[0];
    case 'git-path':
      return (
        hitByWrite(path, cwd, guard) ?? (isBelowProject(path, cwd, guard) ? hitByTree(path, cwd, guard) : undefined)
      );
    case 'git-clean':
      return hitByClean(path, cwd, use.excludes ?? [], guard);
    case 'git-stash':
      // A stash takes the whole working tree, wherever it is called.
      return isBelowProject(path, cwd, guard)
        ? hitByTree(guard.rules.projectDir, '/', guard)
        : hitByTree(path, cwd, guard);
    case 'git-tracked':
    case 'read':
      return undefined;
    default:
      return use.how satisfies never;
  }
}

function hitByClean(path: string, cwd: string, excludes: readonly string[], guard: Guard): ProtectedPath | undefined {
  const left = guard.own.filter((entry) => !excludes.some((exclude) => isExcluded(exclude, entry.path)));
  return hitByTree(path, cwd, { ...guard, own: left });
}

/** An exclude of `git clean` is a line of a .gitignore: a name at any depth, or a path from the top. */
export function isExcluded(exclude: string, path: string): boolean {
  const pattern = exclude.replace(/^\/+|\/+$|\/\*\*$/g, '');
  if (pattern.includes('/')) return `${path}/`.includes(`/${pattern}/`);
  return path.split('/').some((segment) => matchesGlob(pattern, segment));
}

/** Files that a search finds. A protected name that is only begun stands for its .json file. */
function hitBySearch(under: SearchedTree, guard: Guard): ProtectedPath | undefined {
  const { caseInsensitive } = guard.rules;
  return guard.own.find((entry) =>
    searchFinds(under, entry.prefix ? `${entry.path}.json` : entry.path, caseInsensitive),
  );
}

export function shownPath(entry: ProtectedPath, guard: Guard): string {
  const { projectDir } = guard.rules;
  return entry.label.startsWith(`${projectDir}/`) ? entry.label.slice(projectDir.length + 1) : entry.label;
}
