import { withPrefix } from '../../drive/turn/messages.ts';
import { type Holdings, holdingsOf, lossTexts } from '../../drive/worktree/holdings.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { checkedOut } from '../../drive/worktree/repository.ts';
import type { WorktreePlace } from '../../drive/worktree/worktree-place.ts';
import { counted } from '../../engine/messages.ts';
import { programName } from '../../state/process/program.ts';
import { printable, table } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';

/** Returns where the work of a run is, and the commands to review it, merge it and clean up. The user merges it. */
export function worktreeText(projectDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): string {
  const { branch, dir, name } = place;
  const shown = printable(dir);
  let holdings: Holdings;
  let stands: string;
  try {
    holdings = holdingsOf({ projectDir, place, env });
    const { branch: current, commit } = checkedOut(dir, env);
    stands = current === branch ? '' : ` ${WORKTREE_TEXTS.leftBranch(branch, current, commit)}`;
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return withPrefix(WORKTREE_TEXTS.unknownWork(shown, error.message));
  }
  const { uncommitted, unmerged, adrift, beside } = holdings;
  const rest = lossTexts({ ...holdings, unmerged: 0 }, branch);
  const others = beside.map((each) => `the branch ${each.branch} (${counted(each.commits, 'commit')})`);
  const text = workText(branch, shown, unmerged, [...rest, ...others]);
  const git = `git -C ${shellWord(dir)}`;
  const hasRest = uncommitted.length > 0;
  const rows = [
    ...(unmerged > 0 ? [['look at its commits', `git log -p HEAD..${branch}`]] : []),
    ...(hasRest ? [['look at the rest', `${git} status && ${git} diff HEAD`]] : []),
    ...(hasRest && stands === '' ? [['commit the rest', `${git} add -A && ${git} commit`]] : []),
    ...adrift.map(({ commit }) => ['keep commits on no branch', `git branch NAME ${commit.slice(0, 12)}`]),
    ...(unmerged > 0 || (hasRest && stands === '') ? [['merge it', `git merge ${branch}`]] : []),
    ['clean up', `${programName()} worktree remove ${name}`],
  ];
  return `${withPrefix(`${text}${stands}`)}\n${table(rows.map((row) => ['', ...row]))}`;
}

function workText(branch: string, dir: string, commits: number, rest: readonly string[]): string {
  if (rest.length === 0) {
    return commits === 0
      ? `nothing is committed on the branch ${branch}, and ${dir} holds no other work.`
      : `the work is on the branch ${branch} (${counted(commits, 'commit')}), in ${dir}.`;
  }
  const has =
    commits === 0
      ? 'nothing is committed'
      : `${counted(commits, 'commit')} of the work ${commits === 1 ? 'is' : 'are'}`;
  return `${has} on the branch ${branch}. ${dir} also holds: ${rest.join('; ')}.`;
}
