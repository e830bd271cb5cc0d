import type { Guard } from '../guard.ts';
import { comparablePath, realPath } from '../own-files/comparable-path.ts';
import { absolutePath } from '../own-files/own-files.ts';
import { UNKNOWN } from '../shell/shell-reading.ts';

/** One path under all the names by which a user's glob may mean it. */
export interface PathForms {
  /** As given, absolute, resolved through symlinks, and relative to the project. */
  readonly paths: readonly string[];
  readonly names: readonly string[];
  /** Relative to the project inside it, absolute elsewhere: the project's own location is not a secret. */
  readonly placed: readonly string[];
}

/** Placeholder for a part that is known only at run time: only `*` matches it. */
const ANYTHING = '\ufffd';

/** The forms of a path as it was given. A part that is unknown stays so, and no symlink is looked for then. */
export function pathForms(path: string, cwd: string, guard: Guard): PathForms {
  if (path.includes(UNKNOWN) || (cwd.includes(UNKNOWN) && !path.startsWith('/'))) {
    const known = absolutePath(path, cwd).replaceAll(UNKNOWN, ANYTHING);
    return formsOf(known.startsWith(ANYTHING) ? known : path.replaceAll(UNKNOWN, ANYTHING), [known], guard);
  }
  const absolute = absolutePath(path, cwd);
  return formsOf(path, [absolute, realPath(absolute)], guard);
}

/** Returns the forms of a path below a directory of which both names are known. */
export function formsBelow(rest: string, directory: string, realDirectory: string, guard: Guard): PathForms {
  return formsOf(`${directory}/${rest}`, [`${directory}/${rest}`, `${realDirectory}/${rest}`], guard);
}

function formsOf(given: string, absolute: readonly string[], guard: Guard): PathForms {
  const { caseInsensitive } = guard.rules;
  const whole = [...new Set(absolute.map((each) => comparablePath(each, caseInsensitive)))];
  const relative = whole.map((each) => relativeTo(guard.project, each));
  const inside = relative.filter((each) => each !== null);
  return {
    paths: [...new Set([comparablePath(given, caseInsensitive), ...whole, ...inside])],
    names: [...new Set(whole.map((each) => each.slice(each.lastIndexOf('/') + 1)))],
    placed: whole.map((each, index) => relative[index] ?? each),
  };
}

function relativeTo(projects: readonly string[], path: string): string | null {
  for (const project of projects) {
    if (path === project) return '.';
    if (path.startsWith(`${project}/`)) return path.slice(project.length + 1);
  }
  return null;
}
