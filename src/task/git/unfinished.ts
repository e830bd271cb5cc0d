import { statSync } from 'node:fs';
import { join } from 'node:path';

/** What git has begun, by the path that says so. A rebase comes first: it leaves the marks of others as well. */
const BEGUN = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply/applying', 'am'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
] as const;

/** Returns what git has begun and not finished, such as a merge with conflicts, and when (epoch milliseconds); null if there is nothing. */
export function unfinishedIn(gitDir: string) {
  for (const [path, command] of BEGUN) {
    const begunAt = statSync(join(gitDir, path), { throwIfNoEntry: false })?.mtimeMs;
    if (begunAt !== undefined) return { command, begunAt };
  }
  return null;
}

/**
 * Returns the sentence that names it, and the commands that end it; null if there is nothing, or only a bisect, during which one may
 * commit.
 */
export function unfinishedText(gitDir: string): string | null {
  const command = unfinishedIn(gitDir)?.command;
  if (command === undefined || command === 'bisect') return null;
  return `A git ${command} is not finished. To end it: git ${command} --continue, or git ${command} --abort.`;
}
