import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { baselineChanges, readBaseline, storeBaseline } from '../../state/snapshot/baseline.ts';
import { examine } from '../../state/snapshot/examine.ts';
import {
  type FileChange,
  readSnapshot,
  type SnapshotBounds,
  takeSnapshot,
  withSnapshotLock,
} from '../../state/snapshot/snapshot.ts';
import { isAgentBusy } from './agent-busy.ts';
import { PROTECTION_TEXTS, shownPath } from './messages.ts';
import { sameSettings, unchangedSet, watchOf } from './protection.ts';
import { restoreProtected } from './restore-protected.ts';

/**
 * Takes the snapshot of what the contract protects. What has to be unchanged is compared with the start, over every resume,
 * until the user accepts other versions. Returns a warning if not all of it can be put back.
 */
export function storeProtected(
  files: LoopFiles,
  contract: Contract,
  env: NodeJS.ProcessEnv,
  { resumes = false } = {},
): string | null {
  const watch = watchOf(files, contract, env);
  const { loopId, unchanged = [] } = contract;
  const bounds = withSnapshotLock(files, () => {
    if (!resumes || readBaseline(files, loopId, unchanged) === null)
      storeBaseline(files, loopId, unchanged, unchangedSet(files, contract, env));
    return takeSnapshot(files, loopId, watch);
  });
  return bounds === null ? null : boundsText(bounds);
}

function boundsText({ unkept, unwatched }: SnapshotBounds): string {
  return unwatched ? PROTECTION_TEXTS.notWatched : PROTECTION_TEXTS.notKept(unkept);
}

/** Puts back what the agent of a former process changed in its last call, before a loop that is resumed takes a new snapshot. */
export function restoreBeforeResume(
  files: LoopFiles,
  state: LoopState,
  contract: Contract,
  { env, at }: { readonly env: NodeJS.ProcessEnv; readonly at: string },
): void {
  const isUsers = !isAgentBusy(files, state);
  const context = { files, env, now: () => at };
  restoreProtected(context, { state, contract, found: { when: 'turn' }, depth: 'all', isUsers });
}

/** Lists the changes of protected and unchanged files that `accept` would adopt, one line each. Changes nothing. */
export function protectedChanges(files: LoopFiles, contract: Contract, env: NodeJS.ProcessEnv): string[] {
  const { protect } = watchOf(files, contract, env);
  const { loopId, unchanged = [] } = contract;
  const baseline = readBaseline(files, loopId, unchanged);
  const fixed = baseline === null ? [] : baselineChanges(files, baseline, unchangedSet(files, contract, env));
  const found = withSnapshotLock(files, () => {
    const snapshot = readSnapshot(files, contract.loopId);
    if (snapshot === null) return null;
    const isSame = sameSettings(files, contract, snapshot.own);
    const { changes } = examine(files, snapshot, { protect, depth: 'all', isSame });
    return [...snapshot.left, ...changes];
  });
  const lines = (what: string, changes: readonly FileChange[]): string[] =>
    changes.map(({ path, was }) => `${what} ${shownPath(path, files.projectDir)}: ${was}`);
  return [...new Set([...lines('protected file', found ?? []), ...lines('unchanged file', fixed)])];
}
