import type { LoopState } from '../core/schema/state.ts';
import { worktreePlaces } from '../drive/worktree/worktree-place.ts';
import { loopFiles } from '../state/loop-files.ts';
import { isAlive } from '../state/process-identity.ts';
import { readState } from '../state/read-state.ts';
import { loopNames } from './loop-names.ts';

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
