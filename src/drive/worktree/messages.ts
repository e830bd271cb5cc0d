import { advise, type Message } from '../../text/message.ts';
/** Messages about worktrees. */
export const WORKTREE_TEXTS = {
  noGit: 'a worktree needs git, and no git was found on PATH.',
  gitFailed: (what: string, complaint: string): string =>
    `${what}, but git refused${complaint === '' ? '.' : `: ${complaint}`}`,
  noRepository: (dir: string): string =>
    `${dir} is in no git repository, and a worktree is made from one. Run without --worktree, or make one: git init, then commit.`,
  noCommit: 'the repository has no commit yet, and a worktree begins at one. Commit first.',
  needsName: 'a loop in a worktree needs a name, which its branch and its folder have too: --loop NAME.',
  badBranch: (branch: string): string =>
    `git allows no branch called ${branch}. Give the loop another name: --loop NAME.`,
  busy: (name: string, pid: number): string =>
    `the worktree ${name} is being made by process ${pid}. Try again when it is done.`,
  exists: (name: string, dir: string): Message => ({
    text: `the worktree ${name} exists already (${dir}). To start a new loop in it, add --fresh; to make another one, add --loop NAME.`,
    advice: [
      { verb: 'Resume its loop', command: 'run', options: { resume: true, loop: name, worktree: true } },
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
    `${dir} exists and is not a worktree of this repository. Move it away, or give another --loop NAME.`,
  branchLies: (branch: string, commits: number): string =>
    `the branch ${branch} is there, with ${counted(commits, 'commit')} that HEAD has not. Merge it (git merge ${branch}), or delete it (git branch -D ${branch}), or give another --loop NAME.`,
  nothingToResume: (name: string): string =>
    `there is no worktree ${name} to resume in. To create it, leave out --resume.`,
  begins: (branch: string, dir: string, commit: string): string =>
    `the loop has a worktree of its own: ${dir}, on the branch ${branch}, from ${commit}.`,
  goesOn: (branch: string, dir: string): string => `the loop resumes in its worktree ${dir}, on the branch ${branch}.`,
  copied: (files: readonly string[]): string =>
    `not committed as ${files.length === 1 ? 'it stands' : 'they stand'}, so copied into the worktree: ${some(files)}.`,
  copiedIgnored: (files: readonly string[]): string => `copied into the worktree by worktree_copy: ${some(files)}.`,
  leftOut: (changes: number, commit: string): string =>
    `${counted(changes, 'uncommitted change')} of the project ${changes === 1 ? 'is' : 'are'} not in the worktree, which begins at ${commit}.`,
  taskDiffers: (taskPath: string): string =>
    `${taskPath} in the worktree is not as it is here; the one in the worktree counts.`,
  settingUp: (command: string): string => `setting the worktree up: ${command}`,
  setUpFailed: (command: string, how: string, output: string, name: string): Message =>
    advise(
      `the worktree's set-up failed (${command}: ${how}), so the loop was not started.${output === '' ? '' : ` It said:\n${output}\n`} Fix it and run again with --fresh, which repeats the set-up.`,
      'Or remove it',
      `worktree remove ${name}`,
    ),
  noWorktree: (name: string): Message => advise(`there is no worktree ${name}.`, 'List them', 'worktree list'),
  live: (name: string, loop: string): Message =>
    advise(`a loop (${loop}) runs in the worktree ${name}.`, 'Stop it first', 'stop', { loop: name }),
  wouldLose: (name: string, what: readonly string[]): Message =>
    advise(
      `removing the worktree ${name} would lose: ${what.join('; ')}. Commit and merge what you want to keep.`,
      'To lose it',
      `worktree remove ${name}`,
      { force: true },
    ),
  removed: (name: string, branch: string, tip: string | null, kept: string | null): string =>
    [
      `the worktree ${name} is removed${tip === null ? '' : `, with its branch ${branch}`}.`,
      ...(tip === null ? [] : [`To have the branch back: git branch ${branch} ${tip}`]),
      ...(kept === null ? [] : [`The journals of its loop are in ${kept}.`]),
    ].join('\n'),
} as const;

const SHOWN = 8;

function some(files: readonly string[]): string {
  const more = files.length - SHOWN;
  return more > 0 ? `${files.slice(0, SHOWN).join(', ')} and ${more} more` : files.join(', ');
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
