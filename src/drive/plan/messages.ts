import type { HeldPlan } from '../../task/plan/read-plan.ts';
import { counted } from '../../text/figures.ts';
import { advise, type Message } from '../../text/message.ts';
import { listed } from '../../text/quote.ts';

const some = (paths: readonly string[]): string => listed(paths, 20);

export const PLAN_TEXTS = {
  outOfScope: (paths: readonly string[], id: string): string =>
    `outside the scope of ${id}: ${some(paths)}. Restore these files, and remove new ones. If ${id} cannot be done without changing them, end as blocked and say so: only the user can widen the scope in the plan.`,
  outOfScopeForUser: (paths: readonly string[], id: string): string =>
    `outside the scope of ${id}: ${some(paths)}. Restore these files, or widen the scope in the plan.`,
  nested: (paths: readonly string[]): string =>
    `separate git repositories: ${some(paths)}. A commit would contain only a link to them and none of their files. Remove their .git (for a worktree: git worktree remove), or add them to .gitignore.`,
  unsaved: (paths: readonly string[]): string =>
    `submodules with uncommitted changes: ${some(paths)}. The task's commit contains only a link to a submodule's commit. Commit inside the submodule, or revert the changes.`,
  leadingOut: (paths: readonly string[]): string =>
    `links that lead out of the repository: ${some(paths)}. The commit has the links alone, so they are no proof of work.`,
  absoluteLinks: (paths: readonly string[]): string =>
    `links to an absolute path in this folder: ${some(paths)}. A clone of the commit has nothing there. Link by a relative path.`,
  unnamed: (paths: readonly string[]): string =>
    `the names of these files are not UTF-8, so the loop cannot commit their changes: ${some(paths)}. Rename new files, and restore others.`,
  hidden: (paths: readonly string[]): string =>
    `git is set to ignore changes to these tracked files: ${some(paths)}. Undo that: git update-index --no-assume-unchanged PATH, and git update-index --no-skip-worktree PATH.`,
  hiddenUnknown:
    'git no longer reports which tracked files it is set to ignore (git ls-files -v), as it did when the task began. Undo the change that caused this.',
  otherBranch: (branch: string | null, wanted: string): string =>
    `the repository is on ${branch ?? 'no branch'}, but this plan's branch is ${wanted}. Switch back to it: git switch ${wanted} (first end a rebase or merge in progress: git rebase --abort or git merge --abort).`,
  unknownStart:
    'the starting point of this task is no longer known, so the attempt could not be verified. Report again that the task is done.',
  ticked: (ids: readonly string[], path: string): string =>
    `${ids.join(', ')}: the agent ticked a box in ${path} for a task that it was not working on. The box was cleared: the loop ticks it once the task is verified.`,
  tickedBetween: (ids: readonly string[], path: string): string =>
    `${ids.join(', ')}: a box in ${path} was ticked, but not by the loop. It was cleared: the loop ticks it once the task is verified. To tick it yourself, pause the loop first.`,
  goneTasks: (ids: readonly string[], path: string): string =>
    `${ids.join(', ')} ${wasOf(ids)} removed from ${path} before ${ids.length === 1 ? 'it was' : 'they were'} done, and put back. To remove a task, pause the loop first.`,
  renamedTasks: (ids: readonly string[], path: string): string =>
    `${ids.join(', ')} ${wasOf(ids)} given another title in ${path} before ${ids.length === 1 ? 'it was done. The title was' : 'they were done. The titles were'} put back. To rename a task, pause the loop first.`,
  changedSince: ({ gone, renamed, ticked }: Omit<HeldPlan, 'text'>, path: string): string => {
    const changes = [
      ...(gone.length === 0 ? [] : [`${gone.join(', ')} ${wasOf(gone)} removed from ${path}`]),
      ...(renamed.length === 0 ? [] : [`${renamed.join(', ')} ${wasOf(renamed)} given another title`]),
      ...(ticked.length === 0 ? [] : [`the box of ${ticked.join(', ')} was ticked`]),
    ];
    return `Since the loop was left, ${changes.join(', and ')}. A resume takes the plan as it is.`;
  },
  ownTick: (id: string): string =>
    `The agent ticked the box of ${id}. The box was cleared: the loop ticks it once the task is verified.`,
  gonePlan: (path: string): string =>
    `${path} was removed or replaced while the agent worked on the task. It was restored.`,
  secrets: (paths: readonly string[]): string =>
    `these files may contain credentials and are not committed: ${some(paths)}. Remove them, or add them to .gitignore.`,
  nothingChanged: (id: string): string =>
    `no file in the scope of ${id} changed, and no check that failed when it began passes now. Do the task. If it needs no change, end as blocked and say so: the user marks such a task (no-change) in the plan.`,
  nothingChangedForUser: (id: string): string =>
    `no file in the scope of ${id} changed, and no check that failed when it began passes now. If the task needs no change, mark it (no-change) in the plan.`,
  progressChanged: (path: string): string =>
    `${path} was changed while the agent worked on the task. Only the loop writes it; the committed version was restored.`,
  scopeChanged: (id: string, path: string): string =>
    `the scope of ${id} was changed in ${path} while the agent worked. The original scope applies until you stop the loop and resume it. If you did not change it, review the plan.`,
  otherText: (id: string, path: string): string =>
    `the text of ${id} in ${path} is not the one that this attempt was made for. Do what it says now.`,
  tasksChanged: (changed: readonly string[], path: string): string =>
    `tasks of ${path} were changed while the agent worked: ${some(changed)}. If you did not change them, review the plan.`,
  folded: (commits: readonly string[], id: string): string =>
    `${counted(commits.length, 'commit')} made during ${id} ${wasOf(commits)} folded into the loop's commit: ${some(commits)}.`,
  keptCommits: (commits: readonly string[], id: string): string =>
    `${counted(commits.length, 'commit')} made during ${id} by no call of its agent ${wasOf(commits)} kept: ${some(commits)}.`,
  movedBack: (id: string): string =>
    `the branch was moved back to before the start of ${id} during the task, and was moved forward again. Check whether work of earlier tasks was undone.`,
  addedByHook: (paths: readonly string[], id: string): string =>
    `the commit of ${id} was undone, because a git hook added files outside its scope: ${some(paths)}. The user has to add them to the scope in the plan, or remove them from the hook.`,
  leftOut: (paths: readonly string[], id: string): string =>
    `these files outside the scope of ${id} were changed by no call of its agent, or while its work was checked, so its commit is without them: ${some(paths)}.`,
  differs: (paths: readonly string[], id: string): string =>
    `the commit of ${id} was undone: under the git settings of the start it does not contain these files as they are: ${some(paths)}. Revert the changes in .git (config, info/attributes, info/exclude) or by git update-index.`,
  emptyCommit: (id: string): string =>
    `the commit of ${id} was undone: after line ends, filters and hooks, no file in its scope differs from the commit before.`,
  unknownCommit: 'git does not say which files the commit has. git status says why.',
  otherHooks:
    "The repository's git hooks were changed after the start, so none was run for the commit. Review them: git rev-parse --git-path hooks.",
  notTakenIn: (paths: readonly string[], said: string): string =>
    `a git hook changed files after they were committed, and they could not be added to the commit: ${some(paths)}. ${said}`,
  messageRejected: (said: string): string =>
    `the commit-msg hook of this repository rejects the message of a task's commit. Set its form: commit_message: "{type}: {title}" in the plan's frontmatter (also {id} and {plan}). ${said}`,
  otherForm: (rejected: string, form: string): string =>
    `the commit-msg hook of this repository rejects the form "${rejected}", so the commits of the plan have the form "${form}".`,
  notFolded: (said: string): string => `your commits could not be folded into the loop's commit: ${said}`,
  beside: (name: string | null): Message =>
    advise(
      `${name === null ? 'the default loop' : `the loop ${name}`} works in this folder, and a plan takes its changes for those of its own agent. Add --worktree, or wait for its end.`,
      'Or stop it',
      'stop',
    ),
  noRepository: (why: string): string => `a plan needs one commit per task, which is not possible here: ${why}`,
  noProgressFile: (path: string): string =>
    `the plan's progress goes to ${path}, which is not a regular file. Move it away.`,
  noCommit: 'the repository has no commit yet. Commit its files first.',
  noIdentity:
    'git has no author for commits here. Set one: git config user.name NAME, and git config user.email ADDRESS.',
  cannotSign: (said: string, isConfined = false): string =>
    `commits are signed here (git config commit.gpgsign), but git could not sign one${isConfined ? ' in the sandbox' : ''}: ${said.trim()}\n${isConfined ? 'Run the plan without the sandbox (--set sandbox.mode=off)' : 'Unlock the key in its agent (gpg-agent, ssh-agent)'}, or run git config commit.gpgsign false.`,
  noBranch: 'HEAD is not on a branch. Create one for the plan: git switch -c NAME.',
  mainBranch: (branch: string, name: string): string =>
    `a plan is not executed on ${branch}. Create a branch for it: git switch -c ${name}.`,
  branchIsThere: (branch: string, name: string): string =>
    `a plan is not executed on ${branch}, and this one already has a branch. Switch to it: git switch ${name}. Or create another: git switch -c NAME.`,
  offered: (commands: readonly string[]): string =>
    `this plan has no validation commands, so only the scope of each task is verified. The project offers: ${commands.join(', ')}. Add them under "validation:" in the plan's frontmatter.`,
  nothingOffered:
    'this plan has no validation commands, so only the scope of each task is verified. Add some under "validation:" in its frontmatter.',
  notUtf8: (path: string): string =>
    `${path} is not UTF-8, so it could not be written back byte for byte. Save it as UTF-8.`,
  dirty: (paths: readonly string[], resumed: boolean): string =>
    resumed
      ? `these files are not committed and do not come from this loop: ${some(paths)}. Commit, stash or ignore them, then resume again.`
      : `these files are not committed and would become part of the first task's commit: ${some(paths)}. Commit, stash or ignore them, then start again. If they are a plan loop's work, resume that loop instead.`,
  lint: (path: string, list: string): string => `${path} cannot be executed as it is:\n${list}`,
  nothingToDo: (path: string, why: string): string => `${path} has no task to work on: ${why}.`,
  unknownFrom: (id: string, path: string): string => `--from "${id}": ${path} has no such task.`,
  waitingFrom: (id: string, needs: readonly string[]): string =>
    `--from "${id}": this task depends on ${needs.join(', ')}, which is not done.`,
} as const;

const wasOf = (ids: readonly string[]): string => (ids.length === 1 ? 'was' : 'were');

/** Returns the messages about tasks and boxes that were restored between two tasks. */
export function heldTexts({ gone, renamed, ticked }: HeldPlan, path: string): string[] {
  return [
    ...(gone.length === 0 ? [] : [PLAN_TEXTS.goneTasks(gone, path)]),
    ...(renamed.length === 0 ? [] : [PLAN_TEXTS.renamedTasks(renamed, path)]),
    ...(ticked.length === 0 ? [] : [PLAN_TEXTS.tickedBetween(ticked, path)]),
  ];
}

/** Messages about tasks of a plan that run side by side. */
export const PART_TEXTS = {
  otherBranch: (branch: string | null, wanted: string): string =>
    `the project is on ${branch ?? 'no branch'}, and ${wanted} is the branch of this plan. Go back to it: git switch ${wanted}.`,
  noPlan: (path: string, dir: string): string => `${path} is no longer in ${dir}. Put it back.`,
  notPublished: (id: string, branch: string, said: string): string =>
    `${id} is committed in its worktree, but git could not move ${branch} forward to it: ${said}`,
  notMerged: (said: string): string => `the work could not be merged with the plan's branch: ${said}`,
  keepsMoving: (branch: string): string =>
    `${branch} was changed again and again while a task was being committed on it. Stop committing there.`,
  conflicts: (paths: readonly string[], id: string): string =>
    `other commits changed the same lines as ${id}: ${some(paths)}. These files now have both versions, between conflict markers. Edit them so that both changes hold.`,
  moved: (paths: readonly string[], id: string): string =>
    `submodules at another commit: ${some(paths)}. No other worktree has that commit, so tasks side by side cannot deliver it. Revert it. If ${id} needs it, end as blocked and say so: the user can run the plan without --parallel.`,
  markers: (paths: readonly string[]): string => `conflict markers are left in ${some(paths)}.`,
  notTogether: (id: string): string =>
    `${id} passed by itself, but not together with what was committed on the plan's branch meanwhile. The working tree has both now.`,
  planLeftOut: (id: string, path: string): string =>
    `The agent of ${id} changed ${path} in its worktree. Its changes were left out: the plan in the project counts.`,
  onlyInParallel: (id: string, path: string): string => `this loop is working on ${id} of ${path} beside others.`,
  runOver: (id: string, path: string): string => `the run in which this loop worked on ${id} of ${path} is over.`,
} as const;
