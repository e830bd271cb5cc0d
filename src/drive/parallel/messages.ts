import type { Batch } from '../../engine/schema/batch.ts';
import { programName } from '../../state/process/program.ts';
import { counted, dollarText } from '../../text/figures.ts';
import { advise, type Message } from '../../text/message.ts';
import { asSentence } from '../../text/quote.ts';
import { formatDuration } from '../../text/time.ts';

const FRESH = ['Start the run again from the beginning', 'run TASK...', { fresh: true }] as const;

/** Returns the first lines of some reasons, which say what failed. */
function heads(reasons: readonly string[]): string {
  return reasons.map((reason) => reason.split('\n', 1).join().replace(/\.$/, '')).join('; ');
}

/** Messages about loops that run side by side. */
export const PARALLEL_TEXTS = {
  starts: (tasks: number, atOnce: number): string =>
    atOnce === 1
      ? `${counted(tasks, 'task')}, one after another.`
      : `${counted(tasks, 'task')}, at most ${atOnce} at once.`,
  /** What several tasks share; `limits` is null if each line of limits covers all of them. */
  together: (atOnce: number, limits: Batch['limits'] | null, tasks = 1): string => {
    const { maxTimeMs = null, maxCostUsd = null } = limits ?? {};
    const most = [
      ...(maxTimeMs === null ? [] : [formatDuration(maxTimeMs)]),
      ...(maxCostUsd === null ? [] : [dollarText(maxCostUsd)]),
    ];
    const way = atOnce === 1 ? 'one after another' : `${atOnce} at once`;
    if (limits === null) return way;
    return `${counted(tasks, 'task')}, ${way}${most.length === 0 ? '' : `, together ${most.join(', ')}`}; each of them:`;
  },
  resumes: (left: number, tasks: number): string =>
    left === 0
      ? 'all tasks have ended; integrating their work.'
      : `${left} of ${counted(tasks, 'task')} ${left === 1 ? 'has not ended and is' : 'have not ended and are'} resumed.`,
  sameName: (name: string, one: string, other: string): string =>
    `${one} and ${other} would both be the loop ${name}. Rename one of them, or run them separately.`,
  twice: (task: string): string => `the task ${task} is named twice.`,
  invalid: (task: string, problem: string): string => `${task}: ${problem}`,
  running: (pid: number): string =>
    `process ${pid} is running tasks of this project side by side. Wait for it, or stop it with Ctrl+C in its terminal.`,
  left: (tasks: readonly string[]): string =>
    `${counted(tasks.length, 'task')} of the last run ${tasks.length === 1 ? 'has' : 'have'} not ended (${tasks.join(', ')}).`,
  noRecord: (path: string): Message => advise(`${path} is not a record of a parallel run.`, ...FRESH),
  lost: (what: string): Message =>
    advise(`the record of the parallel run is lost: ${what}. Its worktrees stay in .ralph/worktrees.`, ...FRESH),
  nothingLeft: 'there is no parallel run to resume here.',
  otherTasks: '--resume continues the tasks of the interrupted run and takes no task names.',
  integrateWord: (value: string): string => `--integrate ${value}: use none, merge, rebase or pr.`,
  noWord: (option: string): string => `--${option} applies to a single task, not to a run over several.`,
  notResumed: (option: string): string => `--${option} is for a new run; --resume continues the interrupted one.`,
  noTasks: 'name the tasks: run TASK... --parallel N, or run PLAN.md --plan --parallel N.',
  noPlan: 'the interrupted run is not over a plan: leave out --max-tasks.',
  loopVariable: (name: string): string =>
    `RALPH_LOOP names the loop ${name}, but each of these tasks has its own. Run them without it: env -u RALPH_LOOP ${programName()} run ...`,
  otherName: 'These loops are named after their tasks: instead of --loop NAME, rename the folder of the task.',
  overtaken: 'another parallel run was started in this project at the same time. Run the command again.',
  finishing: 'The loops stop after their current iterations. Press Ctrl+C again to cancel them.',
  cancelling: 'Cancelling the loops.',
  planStarts: (plan: string, most: number, atOnce: number): string =>
    `at most ${counted(most, 'task')} of ${plan} (--max-tasks), ${atOnce} at once.`,
  planResumes: (plan: string): string => `the tasks of ${plan} are resumed.`,
  planBranch: (current: string | null, branch: string): string =>
    `the project is on ${current ?? 'no branch'}, but this plan's branch is ${branch}, so no other task starts. Switch back to it: git switch ${branch}.`,
  restsChanged: (paths: readonly string[], then: string): string =>
    `a commit that belongs to no task changed files that the checks rely on or that must stay as they are: ${paths.join(', ')}. ${then}`,
  planChanged: (id: string, path: string): string =>
    `${id} is no longer open in ${path}, so its work is not committed.`,
  otherSettings: (path: string): string =>
    `the settings of ${path} have changed since the run began. If you changed them, resume to apply them.`,
  settingsInWorktree: (taskPath: string, name: string): Message =>
    advise(
      `the settings of ${taskPath} in the worktree ${name} differ from those here. Copy the file into it, or remove the worktree, and resume.`,
      'Remove it',
      `worktree remove ${name}`,
    ),
  diedInTurn: (id: string): string =>
    `the process of ${id} ended while it was committing, so nothing more was committed.`,
  committed: (id: string): string => `${id} is committed on the plan's branch.`,
  planLink: (path: string): string => `${path} is a link: tasks side by side need the plan itself.`,
  oldGit: 'running tasks of a plan side by side needs git 2.38 or newer (git merge-tree --write-tree).',
  planIntegrates: '--integrate is for independent tasks: those of a plan are committed on its branch.',
  onePlan: (plans: readonly string[]): string => `--plan is for one plan at a time: ${plans.join(', ')}.`,
  blocked: (ids: readonly string[], path: string, worktrees: readonly string[]): string =>
    `${ids.join(', ')} ${ids.length === 1 ? 'is' : 'are'} blocked. The progress file beside ${path} says why; the attempted changes are uncommitted in ${worktrees.join(', ')}. Fix the cause and remove "(blocked)" from the plan.`,
  unproven: (ids: readonly string[]): string =>
    `Nothing proves ${ids.join(', ')}, and --require-verified asks for proof.`,
  unfinished: (path: string | null): string =>
    path === null ? 'not all tasks have ended.' : `not all tasks of ${path} have ended.`,
  budgetUsed: (reading: string): string => `the shared budget is used up: ${reading}.`,
  batchEnd: (complete: number, tasks: number): string => `${complete} of ${counted(tasks, 'task')} complete.`,
  interrupted: 'the process that drove the run has ended.',
  loopLeft: 'the process that drove its loop has ended.',
  resume: (more: Readonly<Record<string, string>> = {}) =>
    Object.keys(more).length === 0
      ? { verb: 'Resume', command: 'resume' }
      : { verb: 'Grant more', command: 'resume', options: more },
  integrate: { verb: 'Once nothing is in the way, integrate the rest', command: 'resume' },
  died: (how: string): string => `its process ended (${how}) before the loop did`,
  unknownCost: 'the cost of an agent run is unknown, so max_cost cannot be enforced',
} as const;

/** Messages about bringing the work of a loop to the user's branch. */
export const INTEGRATE_TEXTS = {
  merged: (name: string, branch: string, onto: string): string => `${name}: merged ${branch} into ${onto}.`,
  rebased: (name: string, branch: string, onto: string): string =>
    `${name}: rebased ${branch} and moved ${onto} to it.`,
  nothing: (name: string): string => `${name}: there are no changes to integrate.`,
  already: (name: string): string => `${name}: its work was already integrated or removed.`,
  checking: (name: string, check: string): string => `${name}: ${check} runs on a clean checkout.`,
  left: (name: string, left: string, dir: string): string =>
    `${name}: nothing was integrated. ${left} Everything is kept in ${dir}.`,
  noWorktree: (name: string, dir: string): string =>
    `${name}: nothing was integrated, because its worktree is not in ${dir}. git worktree list shows where it is.`,
  unmerged: (name: string, files: readonly string[], dir: string): string =>
    `${name}: nothing was integrated, because a merge in ${dir} has conflicts in ${files.join(', ')}. Solve them and commit there.`,
  submodules: (name: string, paths: readonly string[], dir: string): string =>
    `${name}: nothing was integrated, because commits of the submodule ${paths.join(', ')} are only in its worktree ${dir}. Push them from there, and fetch them in the project.`,
  links: (name: string, paths: readonly string[]): string =>
    `${name}: nothing was integrated, because it links to paths that only this folder has: ${paths.join(', ')}. Link by relative paths, to committed files.`,
  hooks: (name: string): string =>
    `${name}: nothing was integrated, because git hooks were changed while the loop ran, and its last changes are not committed. Review them: git rev-parse --git-path hooks`,
  noLoop: 'no ended loop is in its worktree, so its checks are unknown.',
  later: 'a later loop in its worktree has not completed. Complete it, or merge the branch.',
  noContract: (name: string, path: string): string =>
    `the checks of ${name} are unknown: ${path} is lost or was changed.`,
  red: (name: string, branch: string, commit: string, reasons: readonly string[]): string =>
    `${name}: ${branch} was not integrated, because its checks do not pass on a clean checkout of ${commit}: ${heads(reasons)}. If they need more than the commit, set worktree_copy or worktree_setup.\n${reasons.join('\n')}`,
  redTogether: (name: string, branch: string, reasons: readonly string[]): string =>
    `${name}: the merge of ${branch} was undone, because checks fail on the result: ${heads(reasons)}. The branch is unchanged.\n${reasons.join('\n')}`,
  moves: (name: string): string =>
    `${name}: nothing was integrated, because the current branch was changed again and again. Stop committing there.`,
  stopped: (name: string): string => `${name}: the run was stopped before its work was integrated.`,
  unproven: (name: string): string => `${name}: nothing was integrated, because no check has verified its work.`,
  kept: (text: string, why: string): string => `${text} Its worktree stays: ${why}`,
  dirty: (files: number): string =>
    `nothing was integrated: the project has ${counted(files, 'uncommitted change')}. Commit or stash them, then merge the branches.`,
  unfinished: (text: string): string => `nothing was integrated. ${text} Then merge the branches.`,
  detached: 'nothing was integrated: HEAD is not on a branch. Check out a branch, then merge the branches.',
  conflict: (name: string, branch: string, files: readonly string[]): string =>
    `${name}: ${branch} conflicts with the current branch in ${files.join(', ')}. The branch is unchanged; merge it with: git merge ${branch}`,
  takenBack: (name: string, base: string, branch: string): string =>
    `${name}: nothing was integrated. The current branch no longer has commit ${base}, which ${branch} would bring back. To merge it all the same: git merge ${branch}`,
  failed: (name: string, complaint: string): string =>
    `${name}: its work stays in its worktree, on the branch ralph/${name}, and was not integrated: ${complaint}`,
  uncommitted: (name: string, dir: string, complaint: string): string =>
    `${name}: nothing was integrated. Git refused to commit the work, which is in ${dir}. Commit it there, then: git merge ralph/${name}\n${complaint}`,
  noRemote: 'nothing was pushed: the repository has no remote.',
  pushed: (name: string, branch: string, remote: string): string =>
    `${name}: pushed ${branch} to ${remote}; gh is not installed, so open the pull request yourself.`,
  opened: (name: string, url: string): string => `${name}: opened ${url}`,
  notListed: (name: string, branch: string, complaint: string): string =>
    `${name}: pushed ${branch}, and opened no pull request, because gh could not say whether there is one: ${asSentence(complaint)} If there is none: gh pr create --head ${branch}`,
  otherAnswer: 'gh pr list answered in another form.',
  pullFailed: (name: string, branch: string, complaint: string): string =>
    `${name}: pushed ${branch}, but gh could not open a pull request: ${complaint}`,
} as const;

export const ISSUE_TEXTS = {
  noGh: 'gh is not on the PATH, and issues are read and answered by your own gh (https://cli.github.com).',
  failed: (what: string, complaint: string): string => `gh ${what} failed: ${complaint || 'it gave no reason'}`,
  noIssue: (word: string): string => `--issue ${word}: give a number or the URL of an issue.`,
  unreadable: (word: string): string => `gh did not answer with the issue ${word}.`,
  pull: (word: string, url: string): string => `${word} is a pull request, ${url}. Name an issue.`,
  moved: (word: string, url: string): Message =>
    advise(`The issue ${word} is now ${url}.`, 'Work on it there', `run --issue ${url}`),
  closed: (word: string): string => `The issue ${word} is closed. Reopen it: gh issue reopen ${word}`,
  later: (left: number, label: string, isCut: boolean): string =>
    `${isCut ? 'at least ' : ''}${counted(left, 'more issue')} with the label ${label} ${left === 1 ? 'waits' : 'wait'} for a later run.`,
  refused: (number: number, why: string): string => `Issue #${number} is left out: ${why}`,
  none: (label: string): string => `no open issue with the label ${label} is left.`,
  completed: 'ralph-loop completed its work on this issue.',
  leftOut: (number: number): Message =>
    advise(
      `Issue #${number} is left out: a comment of yours says that a loop completed it.`,
      'Work on it again',
      `run --issue ${number}`,
    ),
  both: '--issue and --issues name the tasks: give one of them, and no TASK beside it.',
  commented: (name: string, url: string): string => `${name}: the result is on ${url}`,
  notCommented: (name: string, complaint: string): string => `${name}: the issue got no comment. ${complaint}`,
};
