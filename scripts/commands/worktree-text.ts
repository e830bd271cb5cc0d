import { RalphError } from '../../src/core/ralph-error.ts';
import { shellWord } from '../../src/core/shell-word.ts';
import { said } from '../../src/drive/texts.ts';
import { counted } from '../../src/drive/worktree/texts.ts';
import { worktreeLoss } from '../../src/drive/worktree/worktree-loss.ts';
import type { WorktreePlace } from '../../src/drive/worktree/worktree-place.ts';
import { printable } from '../../src/term/printable.ts';
import { table } from '../../src/term/table.ts';

/** After a run: where its work lies, and the commands to look at it, to merge it and to clean up. The merge is the user's. */
export function worktreeText(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): string {
  const { branch, dir, name } = place;
  const lost = lossOf(mainDir, place, env);
  const has =
    lost === null ? '' : ` (${counted(lost.unmerged, 'commit')}, ${counted(lost.uncommitted, 'file')} not committed)`;
  const rows = [
    ['look at it', `git log -p HEAD..${branch}`],
    ...((lost?.uncommitted ?? 0) > 0
      ? [['commit the rest', `git -C ${shellWord(dir)} add -A && git -C ${shellWord(dir)} commit`]]
      : []),
    ['merge it', `git merge ${branch}`],
    ['clean up', `main.cjs worktree remove ${name}`],
  ];
  return `${said(`the work is on the branch ${branch}${has}, in ${printable(dir)}.`)}\n${table(rows.map((row) => ['', ...row]))}`;
}

/** null where git does not say: the branch is there all the same. */
function lossOf(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): ReturnType<typeof worktreeLoss> | null {
  try {
    return worktreeLoss(mainDir, place, env);
  } catch (error) {
    if (error instanceof RalphError) return null;
    throw error;
  }
}
