import { liveLoop } from '../../drive/status/loop-report.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { type Holdings, holdingsOf, lossTexts, removeWorktree } from '../../drive/worktree/remove-worktree.ts';
import { checkedOut } from '../../drive/worktree/repository.ts';
import { type WorktreePlace, worktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';
import { lineHere, show, withPrefix } from '../../state/process/program.ts';
import { withoutItsPrograms } from '../../task/git/run-git.ts';
import { printable, table } from '../../term/format.ts';
import { counted } from '../../text/figures.ts';
import { advise, RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import { askInPerson } from '../ask.ts';
import type { Command, CommandContext } from '../command.ts';
import { refuseAgent } from '../refuse-agent.ts';

export const WORKTREE_COMMAND: Command = {
  name: 'worktree',
  usage: 'list | remove NAME',
  help: '"worktree list" shows the worktrees that run --worktree created in this project, and what each holds that nothing else has. "worktree remove NAME" removes one with its branch and keeps the journals of its loop. It refuses while a loop runs there, and asks at the terminal before any work is lost.',
  example: 'ralph-loop worktree remove docs',
  options: {},
  run(context) {
    const [action, name, ...more] = context.positionals;
    if (action === 'list' && name === undefined) return list(context);
    if (action === 'remove' && name !== undefined && more.length === 0) return remove(context, name);
    throw new RalphError('usage', 'worktree takes "list", or "remove NAME" with a name from the list.');
  },
};

async function list({ projectDir, env: given, answer }: CommandContext): Promise<number> {
  const worktrees = await Promise.all(
    worktreePlaces(projectDir).map(async (place) => {
      const env = await withoutItsPrograms(place.dir, given);
      const holdings = holdingsOf({ projectDir, place, env });
      return { ...place, loss: { ...holdings, uncommitted: holdings.uncommitted.length }, holdings };
    }),
  );
  answer({ worktrees: worktrees.map(({ holdings: _, ...shown }) => shown) }, () =>
    worktrees.length === 0
      ? show(advise('No loop has a worktree here.', 'Create one', 'run TASK --worktree'))
      : table(
          worktrees.map(({ holdings, name, branch, dir }) => [
            name,
            branch,
            lossTexts(holdings, branch).join('; ') || 'everything merged',
            dir,
          ]),
        ),
  );
  return 0;
}

function remove(context: CommandContext, name: string): number {
  const { projectDir, env, now, answer } = context;
  refuseAgent(`worktree remove ${name}`, env);
  if (!LOOP_NAME.test(name)) throw new RalphError('usage', WORKTREE_TEXTS.noWorktree(name));
  const place = worktreePlace(projectDir, name);
  const running = liveLoop(place.projectDir, env);
  if (running !== null) throw new RalphError('refused', WORKTREE_TEXTS.live(name, running.status));
  const { tip, kept } = removeAgreed(context, place, now());
  const { branch, dir } = place;
  answer({ success: true, name, branch, dir, tip, kept }, () => WORKTREE_TEXTS.removed(name, branch, tip, kept));
  return 0;
}

/** Removes the worktree. What would be lost is shown to a person, who has to agree. */
function removeAgreed({ projectDir, env, files }: CommandContext, place: WorktreePlace, at: string) {
  const { name, branch } = place;
  try {
    return removeWorktree(projectDir, name, { env, at });
  } catch (error) {
    if (!(error instanceof RalphError) || error.code !== 'work-lost') throw error;
    const loss = lossTexts(holdingsOf({ projectDir, place, env }), branch);
    askInPerson(files, {
      command: `worktree remove ${name}`,
      refusal: error.advised,
      declined: `the worktree ${name} was kept.`,
      heading: `Removing the worktree ${name} loses:`,
      lines: loss.map((line) => `  ${line}`),
      question: 'Remove it?',
    });
    return removeWorktree(projectDir, name, { agreed: loss, env, at });
  }
}

/** Returns where a run's work is, and the commands to review, merge and clean up. Merging is left to the user. */
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
    ['clean up', lineHere(`worktree remove ${name}`)],
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
