import { unlessLost } from '../../../state/evidence/evidence-lost.ts';
import { beginEvidence } from '../../../state/evidence/store-evidence.ts';
import { findEndedContract, type LoopFiles } from '../../../state/loop-files.ts';
import { storeUnchanged } from '../../../state/snapshot/unchanged-files.ts';
import { checkUnchanged, unchangedSet } from '../../control/protection.ts';
import { catchUp } from '../../plan/open-task.ts';
import { readIntent, readOpenTask } from '../../records/open-task-file.ts';
import type { TurnContext } from '../../turn/turn.ts';
import { lastLoopIn } from '../find-task.ts';
import { formerEvidence } from './former-evidence.ts';

/**
 * Moves the worktree of a begun task to the tip of the plan's branch before its loop is resumed, whose contract is fixed from the
 * files there: checks that were changed on the branch count then. Leaves the work of a killed process to the loop itself.
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
  const isIdle = (): boolean =>
    readIntent(files, contract) === null && readOpenTask(files, contract)?.move === undefined;
  // The start itself says which evidence is lost.
  if (!unlessLost(isIdle, false)) return;
  const { unchanged = [], loopId } = contract;
  const isKept = unlessLost(() => checkUnchanged(files, contract, env), null)?.every(({ outcome }) => outcome === 'ok');
  const { signal } = new AbortController();
  await catchUp({ files, env, now, part, contract, signal, state: () => state, dispatch: () => [] });
  // What differs now comes from the branch.
  if (isKept && unchanged.length > 0) storeUnchanged(files, loopId, unchanged, unchangedSet(files, contract, env));
}
