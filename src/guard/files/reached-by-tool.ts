import type { Guard } from '../guard.ts';
import type { ToolCall } from '../guard-rules.ts';
import { absolutePath } from '../own-files.ts';
import { expandBraces } from '../shell/expand-braces.ts';
import { toolPaths } from '../tool-paths.ts';
import type { Budget } from './budget.ts';
import { pathForms } from './path-forms.ts';
import { type Reached, reachedBelow } from './reached-paths.ts';
import { simpleGlob } from './simple-glob.ts';

/** What a call of a tool that is given paths reaches. */
export function reachedByTool(
  call: ToolCall,
  guard: Guard,
  budget: Budget,
): { readonly reached: readonly Reached[]; readonly reads: boolean } {
  const { paths, access, removes } = toolPaths(call, guard);
  const reached = (path: string): Reached => ({ forms: pathForms(path, call.cwd, guard), shown: path });
  const reads = access === 'reads';
  if (call.tool === 'Glob') return { reached: globbed(call, paths).map(reached), reads };
  const below = (path: string, counts?: (found: string) => boolean): Reached[] => [
    reached(path),
    ...reachedBelow(absolutePath(path, call.cwd), guard, budget, counts),
  ];
  // Searching a folder shows what its files hold.
  if (call.tool === 'Grep') {
    const counts = filterOf(textOf(call, 'glob'));
    return { reached: (paths.length === 0 ? ['.'] : paths).flatMap((path) => below(path, counts)), reads };
  }
  return { reached: removes ? paths.flatMap((path) => below(path)) : paths.map(reached), reads };
}

/** What a pattern of the Glob tool asks for by name. */
function globbed(call: ToolCall, paths: readonly string[]): string[] {
  const pattern = textOf(call, 'pattern') ?? '';
  return pattern === '' ? [...paths] : [...paths, pattern, ...paths.map((path) => `${path}/${pattern}`)];
}

/**
 * Files that a search with this filter looks into: a name at any depth, or a path from some folder on. The filter is the
 * agent's: one of more than names, stars and braces counts as none.
 */
function filterOf(filter: string | null): ((path: string) => boolean) | undefined {
  if (filter === null || filter === '') return undefined;
  const globs = expandBraces(filter)?.map((glob) =>
    simpleGlob(glob.includes('/') ? `**/${glob.replace(/^\/+/, '')}` : glob, false),
  );
  if (globs === undefined || !globs.every((matches) => matches !== null)) return undefined;
  const byName = !filter.includes('/');
  return (path) => globs.some((matches) => matches(byName ? path.slice(path.lastIndexOf('/') + 1) : path));
}

function textOf({ input }: ToolCall, key: string): string | null {
  const value = (input as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'string' ? value : null;
}
