import { readdirSync } from 'node:fs';
import type { LoopState } from '../../engine/schema/state.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { readState } from '../../state/read-state.ts';
import { worktreePlaces } from '../worktree/worktree-place.ts';

/** The names of all loops that have left something in a project, the default one (null) first. */
export function loopNames(projectDir: string, env: NodeJS.ProcessEnv): (string | null)[] {
  const { runtimeDir } = loopFiles(projectDir, null, env);
  let entries: string[];
  try {
    entries = readdirSync(runtimeDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  const names = new Set<string | null>();
  for (const entry of entries) {
    const match = /^ralph-(?:state(?:\.(.+))?\.json|archive(?:\.(.+))?)$/.exec(entry);
    if (!match) continue;
    const name = match[1] ?? match[2] ?? null;
    if (name === null || LOOP_NAME.test(name)) names.add(name);
  }
  return [...names].sort((a, b) => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
}

/**
 * The first loop of a project or of one of its worktrees that somebody works on, or that waits for its client; null when
 * none does.
 */
export function liveLoop(projectDir: string, env: NodeJS.ProcessEnv): LoopState | null {
  for (const dir of [projectDir, ...worktreePlaces(projectDir).map((place) => place.projectDir)]) {
    for (const name of loopNames(dir, env)) {
      const found = readState(loopFiles(dir, name, env).state);
      if (found.kind === 'loop' && isLive(found.state)) return found.state;
    }
  }
  return null;
}

/** A loop whose client died is not live, whatever its state says. */
function isLive(state: LoopState): boolean {
  if (state.status === 'ended') return false;
  return state.clientPid === null || isAlive({ pid: state.clientPid, startedAt: state.clientStartedAt });
}
