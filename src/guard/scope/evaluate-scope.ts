import { inScope, isGlob } from '../../engine/plan/task-order.ts';
import { namedPlainly } from '../files/evaluate-files.ts';
import { simpleGlob } from '../files/path-pattern.ts';
import { newBudget, type Reached, reachedByTool, reachedPaths } from '../files/reached-paths.ts';
import { type Denial, deny, type Guard, type TaskScope, type ToolCall } from '../guard.ts';
import { scopeDenied } from '../messages.ts';
import type { ShellReading } from '../shell/shell-reading.ts';

/** Denies a shell command with a recognised write outside the scope of the current task; null otherwise. */
export async function evaluateShellScope(
  reading: ShellReading,
  guard: Guard,
  scope: TaskScope,
): Promise<Denial | null> {
  if (reading.writes.length + reading.named.length === 0) return null;
  const allows = await allowedBy(scope, guard);
  const budget = newBudget();
  // Files that git restores are not the agent's changes, and a link leaves its source unchanged.
  for (const use of reading.writes.filter(({ how }) => !/^(?:git-|link-source$|read$)/.test(how))) {
    const isRemoved = use.how === 'delete' || use.how === 'move' || use.recursive === true;
    const outside = reachedPaths(use, guard, budget).find((each) => each.sought !== true && !allows(each, isRemoved));
    if (outside !== undefined)
      return deny('scope', scopeDenied(outside.shown, use.by || 'this redirection', scope.task));
  }
  const named = namedPlainly(reading, guard, budget, false).find((each) => !allows(each, false));
  return named === undefined ? null : deny('scope', scopeDenied(named.shown, named.by, scope.task));
}

/** Denies a call of a file tool outside the scope of the current task; null otherwise. */
export async function evaluateToolScope(call: ToolCall, guard: Guard, scope: TaskScope): Promise<Denial | null> {
  const allows = await allowedBy(scope, guard);
  const outside = reachedByTool(call, guard, newBudget(), true).reached.find((each) => !allows(each, true));
  return outside === undefined ? null : deny('scope', scopeDenied(outside.shown, call.tool, scope.task));
}

/**
 * Returns a test for paths: allowed in the scope, in a folder that tools fill, outside the project, and if known only at run
 * time. A folder above the scope may be written to by name (`cp x src/`) but not removed.
 */
async function allowedBy(
  { entries, free }: TaskScope,
  guard: Guard,
): Promise<(reached: Reached, isRemoved: boolean) => boolean> {
  const { caseInsensitive } = guard.rules;
  const wanted = caseInsensitive ? entries.map((entry) => entry.toLowerCase()) : entries;
  const globs = wanted.filter(isGlob).flatMap((entry) => [entry, `${entry}/**`]);
  const known = new Map<string, (path: string) => boolean>();
  for (const glob of globs) {
    known.set(
      glob,
      simpleGlob(glob, caseInsensitive) ??
        (await import('../files/picomatch-glob.ts')).picomatchGlob(glob, caseInsensitive),
    );
  }
  const matches = (glob: string, path: string): boolean => known.get(glob)?.(path) === true;
  const allows = (path: string, isRemoved: boolean): boolean => {
    if (/^(?:\/|[a-zA-Z]:)/.test(path) || path.includes('\ufffd')) return true;
    if (path.split('/').some((segment) => free.includes(segment))) return true;
    if (inScope(path, wanted, matches)) return true;
    const above = path === '.' ? '' : `${path}/`;
    return !isRemoved && wanted.some((entry) => entry.startsWith(above));
  };
  return ({ forms }, isRemoved) => forms.placed.every((path) => allows(path, isRemoved));
}
