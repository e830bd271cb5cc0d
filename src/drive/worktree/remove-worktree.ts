import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { namesIn } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { holdingsOf, lossTexts } from './holdings.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { askGit, isRegistered, placeOfBranch, tipOf, userGit } from './repository.ts';
import {
  dropWorktreeRecord,
  readFreeRecord,
  type WorktreePlace,
  worktreeLock,
  worktreePlace,
  writeWorktreeRecord,
} from './worktree-place.ts';

interface Removal {
  /** What a person has agreed to lose, as `lossTexts` describes it. */
  readonly agreed?: readonly string[];
  /** Commit of the branch whose content is on the user's branch under other commits. */
  readonly delivered?: string;
  /** Ignored files that the checks make again in any checkout. */
  readonly madeByChecks?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
}

/**
 * Removes a worktree and its branch. Throws `work-lost`, naming it, if work would be lost without consent. Returns the
 * branch's last commit (`tip`) and the folder with the journals and archive of its loops (`kept`), each null if there was none.
 */
export function removeWorktree(
  projectDir: string,
  name: string,
  { agreed = [], delivered, madeByChecks, env, at }: Removal,
) {
  const place = worktreePlace(projectDir, name);
  const { branch, dir } = place;
  const lock = worktreeLock(projectDir, name, env);
  mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  return withLock(lock, () => {
    const record = readFreeRecord(projectDir, name, env);
    const registered = isRegistered(projectDir, dir, env);
    if (!registered && record === null) throw new RalphError('no-loop', WORKTREE_TEXTS.noWorktree(name));
    const { step = 'ready', base = '', hadBranch = false } = record ?? {};
    const rest = { ...record, base, hadBranch };
    // An incomplete worktree holds no work, and a half-removed one lacks some of its files.
    const whole = step !== 'making' && step !== 'removing';
    const loss = whole ? lossTexts(holdingsOf({ projectDir, place, env, delivered, madeByChecks }), branch) : [];
    if (loss.length > 0 && !isDeepStrictEqual(loss, agreed))
      throw new RalphError('work-lost', WORKTREE_TEXTS.wouldLose(name, loss));
    const kept = step === 'removing' ? null : keepJournals(projectDir, place, env, at);
    if (step !== 'making') writeWorktreeRecord(projectDir, name, env, { ...rest, step: 'removing' });
    removeFiles(projectDir, dir, env);
    const tip = tipOf(projectDir, branch, env);
    const isElsewhere = placeOfBranch(projectDir, branch, env) !== null;
    const gone = tip !== null && !isElsewhere && (step !== 'making' || !hadBranch);
    if (gone) askGit(projectDir, ['branch', '-D', branch], env, `the branch ${branch} could not be deleted`);
    dropWorktreeRecord(projectDir, name, env);
    return { place, tip: gone ? tip : null, kept };
  });
}

/**
 * Removes the files of a worktree and what git knows of it, whatever it holds. Does not prune: the worktrees of the user whose
 * folders are out of reach for a while are not ours.
 */
export function removeFiles(projectDir: string, dir: string, env: NodeJS.ProcessEnv): void {
  // git's own check would refuse copied files and submodules.
  const words = ['worktree', 'remove', '--force', '--force', dir];
  const removed = userGit(projectDir, words, env);
  // A git process whose parent was killed may still be writing.
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  // A part that a killed process has left is no worktree for git, but a missing one is.
  if (!removed.ok && isRegistered(projectDir, dir, env)) askGit(projectDir, words, env, `${dir} could not be removed`);
}

/** Moves a loop's state, journals and memory: nothing of a loop is deleted. */
function keepJournals(
  mainDir: string,
  { name, projectDir }: WorktreePlace,
  env: NodeJS.ProcessEnv,
  at: string,
): string | null {
  const { runtimeDir } = loopFiles(projectDir, name, env);
  if (!existsSync(dirname(runtimeDir))) return null;
  const kept = join(keptFolder(mainDir, env), `${name}-${at.replaceAll(':', '-')}`);
  cpSync(dirname(runtimeDir), dirname(loopFiles(kept, name, env).runtimeDir), { recursive: true });
  return kept;
}

function keptFolder(mainDir: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(mainDir, null, env).runtimeDir, 'worktrees');
}

/** Returns the files of the loop `name` that were kept of its removed worktrees, newest first. */
export function keptFiles(mainDir: string, name: string, env: NodeJS.ProcessEnv): LoopFiles[] {
  const folder = keptFolder(mainDir, env);
  return namesIn(folder)
    .filter((entry) => entry.startsWith(`${name}-`))
    .sort()
    .reverse()
    .map((entry) => loopFiles(join(folder, entry), name, env));
}
