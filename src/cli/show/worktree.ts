import { liveLoop } from '../../drive/status/project-loops.ts';
import { holdingsOf, lossTexts } from '../../drive/worktree/holdings.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { removeWorktree } from '../../drive/worktree/remove-worktree.ts';
import { type WorktreePlace, worktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { table } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import type { Command, CommandContext } from '../command.ts';
import { refuseAgent } from '../refuse-agent.ts';

export const WORKTREE_COMMAND: Command = {
  name: 'worktree',
  summary: 'List or remove the worktrees of loops.',
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

function list({ projectDir, env, answer }: CommandContext): number {
  const worktrees = worktreePlaces(projectDir).map((place) => {
    const holdings = holdingsOf({ projectDir, place, env });
    return { ...place, loss: { ...holdings, uncommitted: holdings.uncommitted.length }, holdings };
  });
  answer({ worktrees: worktrees.map(({ holdings: _, ...shown }) => shown) }, () =>
    worktrees.length === 0
      ? show(advise('No loop has a worktree here.', 'Create one', 'run TASK --worktree'))
      : table(worktrees.map(({ holdings, ...place }) => row(place, lossTexts(holdings, place.branch)))),
  );
  return 0;
}

function row({ name, branch, dir }: WorktreePlace, loss: readonly string[]): string[] {
  return [name, branch, loss.length === 0 ? 'everything merged' : loss.join('; '), dir];
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

/** Removes the worktree; what would be lost is shown to a person, who has to agree. */
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
