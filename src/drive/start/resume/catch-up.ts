import { unlessLost } from '../../../state/evidence/evidence-lost.ts';
import { beginEvidence } from '../../../state/evidence/store-evidence.ts';
import { findEndedContract, type LoopFiles } from '../../../state/loop-files.ts';
import { checkUnchanged } from '../../control/protection.ts';
import { restoreBeforeResume, storeProtected } from '../../control/restore-protected.ts';
import { catchUp } from '../../plan/open-task.ts';
import { readIntent, readOpenTask } from '../../records/open-task-file.ts';
import type { TurnContext } from '../../turn/turn.ts';
import { lastLoopIn } from '../find-task.ts';
import { formerEvidence } from './former-evidence.ts';

/**
 * Moves the worktree of a begun task to the tip of the plan's branch before its loop is resumed, whose contract is fixed from the
 * files there: checks and protected files count as they are on the branch. What the agent of a killed process did to the latter is
 * undone first; the rest of its work is left to the loop itself.
 */
export async function catchUpToResume(
  files: LoopFiles,
  { env, now, part }: Required<Omit<TurnContext, 'files'>>,
): Promise<void> {
  const state = lastLoopIn(files);
  if (state === null) return;
  const { live, lost } = formerEvidence(files, state);
  const { contract } = live ?? findEndedContract(files, state.loopId) ?? {};
  if (lost !== null || contract === undefined) return;
  beginEvidence(files, state.loopId);
  const isSettled = (): boolean => {
    if (readIntent(files, contract) !== null || readOpenTask(files, contract)?.move !== undefined) return false;
    // An ended loop has no snapshot.
    if (live !== null) restoreBeforeResume(files, state, contract, { env, at: now() });
    return true;
  };
  const isKept = (): boolean => checkUnchanged(files, contract, env).every(({ outcome }) => outcome === 'ok');
  // The start itself says which evidence is lost.
  const wasKept = unlessLost(() => (isSettled() ? isKept() : null), null);
  if (wasKept === null) return;
  const { signal } = new AbortController();
  await catchUp({ files, env, now, part, contract, signal, state: () => state, dispatch: () => [] });
  // What differs now comes from the branch.
  storeProtected(files, contract, env, wasKept ? null : contract);
}
