import { counted } from '../../text/figures.ts';
import { advise, type Message } from '../../text/message.ts';
import { listed, quoted, shellWord } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';

export const WORKTREE_TEXTS = {
  noGit: 'a worktree needs git, but git was not found on the PATH.',
  gitFailed: (what: string, complaint: string): string => `${what}, because git failed: ${redact(complaint)}`,
  silent: (words: readonly string[], code: number | null): string =>
    `git ${words.find((word) => /^[a-z-]+$/.test(word) && !word.startsWith('-'))} ended with exit code ${code} and no message. A git hook may have rejected it; git config core.hooksPath shows where hooks are.`,
  noRepository: (dir: string): string =>
    `${dir} is not in a git repository, which a worktree needs. Run without --worktree, or create one: git init, then commit.`,
  noCommit: 'the repository has no commit yet, which a worktree needs. Commit first.',
  noSetUp: '--worktree-setup is for a new worktree or copy, and this loop has none: add --worktree.',
  needsName: 'a loop in a worktree needs a name for its branch and folder: --loop NAME.',
  badBranch: (branch: string): string =>
    `git does not allow a branch named ${branch}. Give the loop another name: --loop NAME.`,
  busy: (name: string, pid: number): string =>
    `process ${pid} is creating the worktree ${name}. Try again when it is done.`,
  exists: (name: string, dir: string): Message => ({
    text: `the worktree ${name} already exists (${dir}). To start a new loop in it, add --fresh; to create another one, add --loop NAME.`,
    advice: [
      { verb: 'Resume its loop', command: `resume ${name}` },
      { verb: 'Or remove it', command: `worktree remove ${name}` },
    ],
  }),
  notSetUp: (name: string, dir: string): Message =>
    advise(
      `the set-up of the worktree ${name} (${dir}) did not finish, and no loop has started in it. To set it up again and start, add --fresh.`,
      'Or remove it',
      `worktree remove ${name}`,
    ),
  notOurs: (dir: string): string =>
    `${dir} exists and is not a worktree of this repository. Move it away, or use another --loop NAME. If git has lost it: git worktree repair ${quoted(dir)}`,
  branchLies: (branch: string, commits: number): string =>
    `the branch ${branch} already exists, with ${counted(commits, 'commit')} missing from HEAD. Merge it (git merge ${branch}), delete it (git branch -D ${branch}), or use another --loop NAME.`,
  nothingToResume: (name: string): string =>
    `there is no worktree ${name} to resume. To create it, leave out --resume.`,
  begins: (branch: string, dir: string, commit: string): string =>
    `the loop works in its own worktree ${dir}, on the branch ${branch}, created from ${commit}.`,
  resumes: (branch: string, dir: string): string => `the loop resumes in its worktree ${dir}, on the branch ${branch}.`,
  copied: (files: readonly string[]): string => `copied into the worktree with uncommitted changes: ${some(files)}.`,
  copiedIgnored: (files: readonly string[], why: string): string =>
    `copied into the worktree for ${why}: ${some(files)}.`,
  hooksOutside: (folder: string): string =>
    `git hooks cannot run in a worktree: core.hooksPath is ${folder}, which leads out of the work tree. Set an absolute path: git config core.hooksPath "$(realpath ${shellWord(folder)})"`,
  hooksWithout: (hooks: readonly string[], program: string, place: string): string =>
    `git hooks (${hooks.join(', ')}) look for ${program} in ${place} of the work tree, which a new worktree lacks, so they would check nothing there. Install it with worktree_setup, such as npm ci.`,
  emptySubmodules: (paths: readonly string[], dir: string): string =>
    `these submodules are empty in the worktree, because the main checkout lacks their commits: ${paths.join(', ')}. Fetch them: git -C ${shellWord(dir)} submodule update --init --recursive`,
  leftOut: (changes: number, commit: string): string =>
    `${counted(changes, 'uncommitted change')} of the project ${changes === 1 ? 'is' : 'are'} not in the worktree, which begins at ${commit}.`,
  notInThese: (changes: number): string =>
    `${counted(changes, 'uncommitted change')} of the project ${changes === 1 ? 'is' : 'are'} not in the worktrees, which begin at the last commit.`,
  inTheWay: (changes: number, how: string): string =>
    `${counted(changes, 'uncommitted change')} here ${changes === 1 ? 'keeps' : 'keep'} --integrate ${how} from changing the project: commit or stash ${changes === 1 ? 'it' : 'them'} before the loops end.`,
  taskDiffers: (taskPath: string): string =>
    `${taskPath} in the worktree differs from the one here; the one in the worktree is used.`,
  settingUp: (command: string): string => `setting up the worktree: ${redact(command)}`,
  setUpFailed: (command: string, how: string, output: string, name: string): Message =>
    advise(
      `the worktree's set-up failed (${redact(command)}: ${how}), so the loop was not started.${output === '' ? '' : ` Its output:\n${redact(output)}\n`} Fix it and run again with --fresh, which repeats the set-up.`,
      'Or remove it',
      `worktree remove ${name}`,
    ),
  noWorktree: (name: string): Message => advise(`there is no worktree ${name}.`, 'List them', 'worktree list'),
  recordLost: (name: string, why: string): Message =>
    advise(
      `${why} What is in the worktree ${name} counts as work.`,
      'Look at it, then remove it',
      `worktree remove ${name}`,
    ),
  live: (name: string, loop: string): Message =>
    advise(`a loop (${loop}) runs in the worktree ${name}.`, 'Stop it first', 'stop', { loop: name }),
  wouldLose: (name: string, what: readonly string[]): string =>
    `removing the worktree ${name} would lose: ${what.join('; ')}. Keep it, or move what you need out of it; only a person at a terminal can agree to lose it.`,
  leftAdrift: (name: string, commits: readonly string[]): string =>
    `the folder of the worktree ${name} was removed by hand, and commits are left that no branch has. Keep them, then run again: ${commits.map((commit) => `git branch NAME ${commit.slice(0, 12)}`).join(', ')}.`,
  leftBranch: (branch: string, current: string | null, commit: string): string =>
    `The agent left ${branch}: the worktree is on ${current === null ? `no branch, at ${commit.slice(0, 12)}` : `the branch ${current}`}.`,
  unknownWork: (dir: string, why: string): string => `the work is in ${dir}; what it holds is unknown: ${why}`,
  adrift: (commit: string, commits: number): string =>
    `${counted(commits, 'commit')} that no branch has (to keep: git branch NAME ${commit})`,
  removed: (name: string, branch: string, tip: string | null, kept: string | null): string =>
    [
      `removed the worktree ${name}${tip === null ? '' : ` and its branch ${branch}`}.`,
      ...(tip === null ? [] : [`To restore the branch: git branch ${branch} ${tip}`]),
      ...(kept === null ? [] : [`The journals of its loop are in ${kept}.`]),
    ].join('\n'),
} as const;

export const some = (files: readonly string[]): string => listed(files, 8);
