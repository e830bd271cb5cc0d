import { cpSync, existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RalphError } from '../../core/ralph-error.ts';
import { withLock } from '../../state/lock.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { isRegistered, tipOf } from './repository.ts';
import { WORKTREE_TEXTS } from './texts.ts';
import { askGit } from './user-git.ts';
import { lossText, worktreeLoss } from './worktree-loss.ts';
import { type WorktreePlace, worktreePlace } from './worktree-place.ts';
import { dropWorktreeRecord, isBeingMade, readWorktreeRecord, worktreeLock } from './worktree-record.ts';

export interface RemovedWorktree {
  readonly place: WorktreePlace;
  /** The commit of its branch, which is removed with it; null where there was no branch. */
  readonly tip: string | null;
  /** Where the journals and the archive of its loops lie now, absolute; null where it had none. */
  readonly kept: string | null;
}

/**
 * Removes a worktree and its branch. What its loops have left is kept in the main project. Throws `refused`, with
 * nothing changed, where work would be lost and `force` is false; the caller has seen that no loop runs there.
 */
export function removeWorktree(
  projectDir: string,
  name: string,
  { force, env, at }: { readonly force: boolean; readonly env: NodeJS.ProcessEnv; readonly at: string },
): RemovedWorktree {
  const place = worktreePlace(projectDir, name);
  const { branch, dir } = place;
  return withLock(worktreeLock(projectDir, name, env), LOCK_WAIT, () => {
    const record = readWorktreeRecord(projectDir, name, env);
    if (record !== null && isBeingMade(record)) {
      throw new RalphError('refused', WORKTREE_TEXTS.busy(name, record.maker.pid));
    }
    const registered = isRegistered(projectDir, dir, env);
    if (!registered && record === null) throw new RalphError('no-loop', WORKTREE_TEXTS.noWorktree(name));
    // One that was never made to its end holds nothing, and its files are not all there.
    const whole = record?.step !== 'making';
    const loss = whole ? lossText(worktreeLoss(projectDir, place, env), branch) : [];
    if (loss.length > 0 && !force) throw new RalphError('refused', WORKTREE_TEXTS.wouldLose(name, loss));
    const kept = keepJournals(projectDir, place, env, at);
    // Its own check would ask about what was copied; ours has been made.
    if (registered) {
      askGit(projectDir, ['worktree', 'remove', '--force', '--force', dir], env, `${dir} was to be removed`);
    }
    rmSync(dir, { recursive: true, force: true });
    const tip = tipOf(projectDir, branch, env);
    const gone = tip !== null && (whole || record?.hadBranch === false);
    if (gone) askGit(projectDir, ['branch', '-D', branch], env, `the branch ${branch} was to be deleted`);
    dropWorktreeRecord(projectDir, name, env);
    return { place, tip: gone ? tip : null, kept };
  });
}

/** Nothing of a loop is deleted, only moved: its state, its journals and its memory. */
function keepJournals(
  mainDir: string,
  { name, projectDir }: WorktreePlace,
  env: NodeJS.ProcessEnv,
  at: string,
): string | null {
  const own = dirname(loopFiles(projectDir, name, env).runtimeDir);
  if (!existsSync(own)) return null;
  const kept = join(loopFiles(mainDir, null, env).runtimeDir, 'worktrees', `${name}-${at.replaceAll(':', '-')}`);
  cpSync(own, kept, { recursive: true });
  return kept;
}
