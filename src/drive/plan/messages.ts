const MOST_SHOWN = 20;

export const PLAN_TEXTS = {
  outOfScope: (paths: readonly string[], id: string): string =>
    `outside the scope of ${id}: ${listed(paths)}. Put these files back as they were. Where ${id} cannot be done without them, end as blocked and say so: the user widens the scope in the plan.`,
  nested: (paths: readonly string[]): string =>
    `git repositories of their own: ${listed(paths)}. A commit would hold a link to them and none of their files. Take their .git away (of a worktree: git worktree remove), or have git ignore them.`,
  unsaved: (paths: readonly string[]): string =>
    `submodules with changes that are not committed in them: ${listed(paths)}. The commit of the task holds no more than a link to a submodule's own commit: make that one, or take the changes back.`,
  hidden: (paths: readonly string[]): string =>
    `git was told not to look at changes of these files: ${listed(paths)}. Take that back: git update-index --no-assume-unchanged PATH, and git update-index --no-skip-worktree PATH.`,
  hiddenUnknown:
    'git does not tell any more which files it was told not to look at (git ls-files -v), as it did when the task began. Take back what was changed about that.',
  otherBranch: (branch: string | null, wanted: string): string =>
    `the repository is on ${branch ?? 'no branch'}, and ${wanted} is the branch of this plan. Go back to it: git switch ${wanted} (a rebase or merge that is in the middle: end it first, git rebase --abort or git merge --abort).`,
  unknownStart:
    'what this task began from is not known any more, so that the attempt could not be verified. Say once more that it is done.',
  ticked: (ids: readonly string[], path: string): string =>
    `${ids.join(', ')}: the agent ticked a box in ${path} of a task that it was not working on. It was cleared: the loop ticks a box once its task is verified.`,
  ownTick: (id: string): string =>
    `The agent ticked the box of ${id}. It was cleared: the loop ticks it once the task is verified.`,
  gonePlan: (path: string): string =>
    `${path} was taken away or replaced while the task was worked on. It was put back.`,
  secrets: (paths: readonly string[]): string =>
    `these files may hold credentials, and are not committed: ${listed(paths)}. Take them away, or have git ignore them.`,
  nothingChanged: (id: string): string =>
    `no file was changed, and no command proves that ${id} is done. Do it; where it was done before, end as blocked and say so.`,
  progressChanged: (path: string): string =>
    `${path} was changed while the task was worked on. The loop writes it; what was committed was put back.`,
  scopeChanged: (id: string, path: string): string =>
    `the scope of ${id} was changed in ${path} while the agent worked. The one that it began with holds until you stop the loop and resume it. If it was not you: look at the plan.`,
  tasksChanged: (changed: readonly string[], path: string): string =>
    `tasks of ${path} were changed while the agent worked: ${listed(changed)}. If it was not you: look at the plan.`,
  folded: (commits: number, id: string): string =>
    `${commits === 1 ? 'a commit' : `${commits} commits`} made while ${id} was worked on ${commits === 1 ? 'was' : 'were'} folded into the one of the loop.`,
  movedBack: (id: string): string =>
    `the branch was moved back behind ${id} while it was worked on, and was put forward again. Look whether work of the tasks before it was undone.`,
  addedByHook: (paths: readonly string[], id: string): string =>
    `the commit of ${id} was undone: a hook of the repository added files outside its scope: ${listed(paths)}. The user adds them to the scope in the plan, or takes them out of the hook.`,
  differs: (paths: readonly string[], id: string): string =>
    `the commit of ${id} was undone: under the git settings of the start it does not hold these files as they are: ${listed(paths)}. Take back what was changed in .git (config, info/attributes, info/exclude) or with git update-index.`,
  otherHooks:
    'The hooks of the repository were changed after the start, so none was run for the commit. Look at them: git rev-parse --git-path hooks.',
  notTakenIn: (paths: readonly string[], said: string): string =>
    `a hook of the repository changed files after they were committed, and they could not be taken into the commit: ${listed(paths)}. ${said}`,
  notFolded: (said: string): string => `your commits could not be folded into the one of the loop: ${said}`,
  noRepository: (why: string): string => `a plan is executed with one commit for each task, and here: ${why}`,
  noProgressFile: (path: string): string =>
    `${path} is where the progress of the plan is written, and no plain file. Move it away.`,
  noCommit: 'the repository has no commit yet. Commit what is there first.',
  noIdentity:
    'git does not know in whose name to commit here. Tell it: git config user.name NAME, and git config user.email ADDRESS.',
  cannotSign: (said: string): string =>
    `commits are signed here (git config commit.gpgsign), and git could not sign one: ${said.trim()}\nUnlock the key in its agent (gpg-agent, ssh-agent), or git config commit.gpgsign false.`,
  noBranch: 'HEAD is on no branch. Make one for the plan: git switch -c NAME.',
  mainBranch: (branch: string, name: string): string =>
    `a plan is not executed on ${branch}. Make a branch for it: git switch -c ${name}.`,
  branchIsThere: (branch: string, name: string): string =>
    `a plan is not executed on ${branch}, and there is a branch for this one. Go to it: git switch ${name}. Or make another: git switch -c NAME.`,
  offered: (commands: readonly string[]): string =>
    `this plan names no command that has to pass, so that nothing but the scope of a task is verified. The project offers: ${commands.join(', ')}. Put them under "validation:" in the plan's frontmatter.`,
  nothingOffered:
    'this plan names no command that has to pass, so that nothing but the scope of a task is verified. Name some under "validation:" in its frontmatter.',
  notUtf8: (path: string): string =>
    `${path} is not UTF-8, and could not be written back byte for byte. Save it as UTF-8.`,
  dirty: (paths: readonly string[], resumed: boolean): string =>
    resumed
      ? `these files are not committed, and are no work of this loop's: ${listed(paths)}. Commit them, stash them, or ignore them, then resume it again.`
      : `these files are not committed, and would go into the first task's commit: ${listed(paths)}. Commit them, stash them, or ignore them, then start again. Where they are the work of a plan's loop, go on with it: --resume.`,
  lint: (path: string, list: string): string => `${path} cannot be executed as it is:\n${list}`,
  nothingToDo: (path: string, why: string): string => `there is no task of ${path} to work on: ${why}.`,
  unknownFrom: (id: string, path: string): string => `--from "${id}": ${path} has no such task.`,
  waitingFrom: (id: string, needs: readonly string[]): string =>
    `--from "${id}": it depends on ${needs.join(', ')}, which is not done.`,
} as const;

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
    `other commits changed the same lines as ${id}: ${listed(paths)}. These files now have both versions, between conflict markers. Edit them so that both changes hold.`,
  markers: (paths: readonly string[]): string => `conflict markers are left in ${listed(paths)}.`,
  notTogether: (id: string): string =>
    `${id} passed by itself, but not together with what was committed on the plan's branch meanwhile. The working tree has both now.`,
  planLeftOut: (id: string, path: string): string =>
    `The agent of ${id} changed ${path} in its worktree. Its changes were left out: the plan in the project counts.`,
  onlyInParallel: (id: string, path: string): string => `this loop works on ${id} of ${path} beside others.`,
} as const;

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_SHOWN).join(', ');
  return paths.length > MOST_SHOWN ? `${shown} and ${paths.length - MOST_SHOWN} more` : shown;
}
