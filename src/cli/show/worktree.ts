import { liveLoop } from '../../drive/status/project-loops.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { lossText, removeWorktree, worktreeLoss } from '../../drive/worktree/remove-worktree.ts';
import { type WorktreePlace, worktreePlace, worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { table } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { refuseAgent } from '../refuse-agent.ts';

export const WORKTREE_COMMAND: Command = {
  name: 'worktree',
  summary: 'List or remove the worktrees of loops.',
  usage: 'list | remove NAME',
  help: '"worktree list" shows the worktrees that run --worktree created in this project. "worktree remove NAME" removes one with its branch and keeps the journals of its loop. It refuses while a loop runs there or work is uncommitted or unmerged.',
  example: 'ralph-loop worktree remove docs',
  options: options({ force: 'Also remove uncommitted and unmerged work.' }),
  run(context) {
    const [action, name, ...more] = context.positionals;
    if (action === 'list' && name === undefined) return list(context);
    if (action === 'remove' && name !== undefined && more.length === 0) return remove(context, name);
    throw new RalphError('usage', 'worktree takes "list", or "remove NAME" with a name from the list.');
  },
};

function list({ projectDir, env, answer }: CommandContext): number {
  const worktrees = worktreePlaces(projectDir).map((place) => ({
    ...place,
    loss: worktreeLoss(projectDir, place, env),
  }));
  answer({ worktrees }, () =>
    worktrees.length === 0
      ? show(advise('No loop has a worktree here.', 'Create one', 'run TASK --worktree'))
      : table(worktrees.map(row)),
  );
  return 0;
}

function row({ loss, ...place }: WorktreePlace & { loss: ReturnType<typeof worktreeLoss> }): string[] {
  const only = lossText(loss, place.branch);
  return [place.name, place.branch, only.length === 0 ? 'everything merged' : only.join('; '), place.dir];
}

function remove(context: CommandContext, name: string): number {
  const { projectDir, env, values, now, answer } = context;
  refuseAgent(`worktree remove ${name}`, env);
  if (!LOOP_NAME.test(name)) throw new RalphError('usage', WORKTREE_TEXTS.noWorktree(name));
  const running = liveLoop(worktreePlace(projectDir, name).projectDir, env);
  if (running !== null) throw new RalphError('refused', WORKTREE_TEXTS.live(name, running.status));
  const { place, tip, kept } = removeWorktree(projectDir, name, { force: values['force'] === true, env, at: now() });
  const { branch, dir } = place;
  answer({ success: true, name, branch, dir, tip, kept }, () => WORKTREE_TEXTS.removed(name, branch, tip, kept));
  return 0;
}
