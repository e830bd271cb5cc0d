import { rmSync } from 'node:fs';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { shellWord } from '../../text/quote.ts';
import { isLoopsOwn } from '../progress/left-out.ts';
import { WORKTREES } from '../task-file.ts';
import { type GitPins, readGitPins, writeGitView } from './git-view.ts';
import { readRepository } from './read-repository.ts';
import { type GitOptions, partsOf, runGit, withoutFilters } from './run-git.ts';

/** State of the repository when a loop began, used to return to it. */
export interface StartPoint {
  readonly head: string;
  /** Branch that was checked out; null on a detached HEAD, absent if unknown. */
  readonly branch?: string | null;
  /** Commit with the uncommitted changes of tracked files; null if there were none. */
  readonly stash: string | null;
  readonly untracked: readonly string[];
  /** Settings of git at the start, stored in a separate folder; null if git did not answer. */
  readonly pins?: GitPins | null;
}

const COMMIT = /^[0-9a-f]{40,64}$/;
const MOST_UNTRACKED = 10_000;

/** Reads the start point; leaves working tree and index unchanged. null outside a repository and without a commit. */
export async function readStartPoint(
  projectDir: string,
  name: string | null,
  options: GitOptions,
): Promise<{ readonly point: StartPoint; readonly changed: readonly string[] } | null> {
  const [repository, pins] = await Promise.all([
    readRepository(projectDir, options),
    readGitPins(projectDir, options).catch(() => null),
  ]);
  if (typeof repository === 'string' || repository.head === null) return null;
  const { head, branch, changed } = repository;
  if (changed.length === 0) return { point: { head, branch, stash: null, untracked: [], pins }, changed };
  const created = await runGit(projectDir, ['stash', 'create', 'ralph-loop: before the start'], options);
  const stash = created.kind === 'answer' && COMMIT.test(created.text.trim()) ? created.text.trim() : null;
  // Without a reference git would eventually delete the commit. If git rejects the name, there is none.
  if (stash !== null) await runGit(projectDir, ['update-ref', `refs/ralph-loop/${name ?? 'default'}`, stash], options);
  return { point: { head, branch, stash, untracked: await untrackedFiles(projectDir, options), pins }, changed };
}

/** Returns the changes since the start point, committed or not; null if git does not answer. */
export async function changesSince(
  projectDir: string,
  { head, stash, untracked }: StartPoint,
  options: GitOptions,
): Promise<{ readonly stat: readonly string[]; readonly newFiles: readonly string[] } | null> {
  const shown = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty', '--stat=72', '--relative'];
  const words = ['diff', ...shown, stash ?? head, '--', '.'];
  const diff = await runGit(projectDir, words, options, await withoutFilters(projectDir, options));
  if (diff.kind !== 'answer') return null;
  const before = new Set(untracked);
  const newFiles = (await untrackedFiles(projectDir, options)).filter((path) => !before.has(path) && !isLoopsOwn(path));
  return { stat: diff.text.split('\n').filter((line) => line !== ''), newFiles };
}

async function untrackedFiles(projectDir: string, options: GitOptions): Promise<string[]> {
  const answer = await runGit(projectDir, ['ls-files', '-z', '--others', '--exclude-standard'], options);
  return answer.kind === 'answer' ? partsOf(answer.text).slice(0, MOST_UNTRACKED) : [];
}

/**
 * Returns shell commands that show the changes and undo them; untracked files stay. Those of a loop in a worktree name it,
 * because its user is in the main project, whose own changes they would undo there.
 */
export function wayBack(
  projectDir: string,
  { head, stash }: StartPoint,
): { readonly show: string; readonly restore: string } {
  const isWorktree = projectDir.replaceAll('\\', '/').includes(`/${WORKTREES}/`);
  const git = isWorktree ? `git -C ${shellWord(projectDir)}` : 'git';
  const restore = `${git} reset --hard ${shortened(head)}`;
  return {
    show: `${git} diff ${shortened(stash ?? head)}`,
    restore: stash === null ? restore : `${restore} && ${git} stash apply --index ${shortened(stash)}`,
  };
}

function shortened(commit: string): string {
  return commit.slice(0, 12);
}

/** Stores the start point of a new loop; null if there is none. */
export function writeStartPoint(files: LoopFiles, loopId: string, start: StartPoint | null): void {
  const { pins = null, ...point } = start ?? {};
  rmSync(files.gitView, { recursive: true, force: true });
  if (start === null) return;
  if (pins !== null) writeGitView(files, pins);
  writeRecord(files.startPoint, { loopId, ...point });
}

/** Returns the start point of this loop; null if there is none, or the file is invalid. Never throws. */
export function startPointOf(files: LoopFiles, loopId: string): StartPoint | null {
  const found = readRecord<StartPoint & { readonly loopId: string }>(files.startPoint);
  const { head, stash = null, untracked } = found ?? {};
  if (found?.loopId !== loopId || typeof head !== 'string' || !Array.isArray(untracked)) return null;
  const isSound = [head, stash ?? head].every((commit) => typeof commit === 'string' && COMMIT.test(commit));
  if (!isSound) return null;
  const { branch = null } = found;
  return { head, branch, stash, untracked: untracked.filter((path) => typeof path === 'string') };
}
