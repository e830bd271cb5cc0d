import { isFolder } from '../../state/files/regular-file.ts';
import { loopFiles, loopNamesIn } from '../../state/loop-files.ts';
import { type WorktreePlace, worktreePlaces } from '../worktree/worktree-place.ts';
import { describeLoop, type LiveLoop, type LoopReport } from './loop-report.ts';

/** Returns the names of all loops that have files in a project, the default one (null) first. */
export function loopNames(projectDir: string, env: NodeJS.ProcessEnv): (string | null)[] {
  const { runtimeDir } = loopFiles(projectDir, null, env);
  const names = isFolder(runtimeDir) ? loopNamesIn(runtimeDir) : [];
  return names.sort((a, b) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
}

/** A loop of a project; `worktree` is null for a loop of the project itself. */
export type ProjectLoop = LoopReport & { readonly worktree: WorktreePlace | null };

/** Describes every loop of a project, the default one first, then those of its worktrees. */
export function describeProject(projectDir: string, env: NodeJS.ProcessEnv): ProjectLoop[] {
  const loopsIn = (dir: string, worktree: WorktreePlace | null): ProjectLoop[] =>
    loopNames(dir, env).map((name) => ({ ...describeLoop(loopFiles(dir, name, env), env), worktree }));
  const places = worktreePlaces(projectDir);
  return [...loopsIn(projectDir, null), ...places.flatMap((place) => loopsIn(place.projectDir, place))];
}

/**
 * Returns the first loop of a project or its worktrees that is driven or, without `isDriven`, waits for its driver; null if there
 * is none.
 */
export function liveLoop(projectDir: string, env: NodeJS.ProcessEnv, isDriven = false): LiveLoop | null {
  const [first] = describeProject(projectDir, env).filter(
    ({ found, live }) =>
      found.kind === 'loop' && live !== null && live.clientAlive !== false && (!isDriven || live.clientPid !== null),
  );
  return first?.live ?? null;
}
