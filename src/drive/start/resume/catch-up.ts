import { join, relative } from 'node:path';
import { unlessLost } from '../../../state/evidence/evidence.ts';
import { beginEvidence } from '../../../state/evidence/store-evidence.ts';
import type { LoopFiles } from '../../../state/loop-files.ts';
import { changesOfUnchanged, readUnchanged } from '../../../state/snapshot/unchanged-files.ts';
import { isSameVersion, versionAt } from '../../../state/snapshot/version.ts';
import { unchangedSet } from '../../control/protection.ts';
import { restoreBeforeResume, storeProtected } from '../../control/restore-protected.ts';
import { catchUp } from '../../plan/open-task.ts';
import { areCommitted, type PartPlace } from '../../plan/plan-place.ts';
import { readIntent, readOpenTask } from '../../records/open-task-file.ts';
import type { TurnContext } from '../../turn/turn.ts';
import { lastLoopIn } from '../find-task.ts';
import { formerEvidence } from './former-evidence.ts';

/**
 * Before a begun task's loop is resumed, moves its worktree to the tip of the plan's branch: the loop's contract is fixed from the
 * files there, and checks and protected files count as they are on the branch. First reverts what the agent of a killed process
 * did to the protected files; the rest of its work is left to the loop itself.
 */
export async function catchUpToResume(
  files: LoopFiles,
  { env, now, part }: Required<Omit<TurnContext, 'files'>>,
): Promise<void> {
  const state = lastLoopIn(files);
  if (state === null) return;
  const { former, live, lost } = formerEvidence(files, state);
  if (lost !== null || former === null) return;
  const { contract } = former;
  beginEvidence(files, state.loopId);
  const isSettled = (): boolean => {
    if (readIntent(files, contract) !== null || readOpenTask(files, contract)?.move !== undefined) return false;
    // An ended loop has no snapshot.
    if (live !== null) restoreBeforeResume(files, state, contract, { env, at: now() });
    return true;
  };
  // The start itself names the lost evidence.
  const recorded = unlessLost(
    () => isSettled() && { of: readUnchanged(files, contract, contract.unchanged ?? []) },
    false,
  );
  if (recorded === false) return;
  const { signal } = new AbortController();
  const place = { files, env, now, part, contract, signal, state: () => state, dispatch: () => [] };
  await catchUp(place);
  const set = unchangedSet(files, contract, env);
  const changed = recorded.of === null ? [] : changesOfUnchanged(files, recorded.of, set);
  const paths = changed.map(({ path }) => relative(files.projectDir, path));
  // A file equal to the branch's came from there, by whatever move.
  const isOfBranch = paths.every((path) => isAsInMain(place, path)) && areCommitted(place, paths);
  storeProtected(files, contract, env, isOfBranch ? null : contract);
}

/** Returns whether a file is the same in the worktree as in the main project. */
function isAsInMain({ files, part }: PartPlace, path: string): boolean {
  const [own, main] = [files.projectDir, part.mainDir].map((dir) => versionAt(join(dir, path)));
  return !path.startsWith('..') && isSameVersion(own ?? null, main ?? null);
}
