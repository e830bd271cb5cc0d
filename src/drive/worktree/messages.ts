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
  exists: (name: string, dir: string): string =>
    `a worktree ${name} lies there already (${dir}). Go on with its loop: ralph-loop run --resume --loop ${name} --worktree. Begin a new loop in it: --fresh. Make a new one: ralph-loop worktree remove ${name}, then run again; or give another --loop NAME.`,
  notSetUp: (name: string, dir: string): string =>
    `the set-up of the worktree ${name} (${dir}) was cut short or failed, and no loop has begun in it. Set it up again and begin: the same command with --fresh. Make a new one: ralph-loop worktree remove ${name}, then run again.`,
  notOurs: (dir: string): string =>
    `${dir} is there, and it is no worktree of this repository. Move it away, or give another --loop NAME.`,
  branchLies: (branch: string, commits: number): string =>
    `the branch ${branch} is there, with ${counted(commits, 'commit')} that HEAD has not. Merge it (git merge ${branch}), or delete it (git branch -D ${branch}), or give another --loop NAME.`,
  nothingToResume: (name: string): string =>
    `there is no worktree ${name} to go on in. Begin: run --worktree --loop ${name}.`,
  begins: (branch: string, dir: string, commit: string): string =>
    `the loop has a worktree of its own: ${dir}, on the branch ${branch}, from ${commit}.`,
  goesOn: (branch: string, dir: string): string => `the loop goes on in its worktree ${dir}, on the branch ${branch}.`,
  copied: (files: readonly string[]): string =>
    `not committed as ${files.length === 1 ? 'it stands' : 'they stand'}, so copied into the worktree: ${some(files)}.`,
  leftOut: (changes: number, commit: string): string =>
    `${counted(changes, 'uncommitted change')} of the project ${changes === 1 ? 'is' : 'are'} not in the worktree, which begins at ${commit}.`,
  taskDiffers: (taskPath: string): string =>
    `${taskPath} in the worktree is not as it is here; the one in the worktree counts.`,
  settingUp: (command: string): string => `setting the worktree up: ${command}`,
  setUpFailed: (command: string, how: string, output: string, name: string): string =>
    `the worktree's set-up failed (${command}: ${how}), so the loop was not started.${output === '' ? '' : ` It said:\n${output}\n`} Fix it and run again with --fresh; the set-up is then run once more. Or: ralph-loop worktree remove ${name}.`,
  noWorktree: (name: string): string => `there is no worktree ${name}. ralph-loop worktree list shows those there are.`,
  live: (name: string, loop: string): string =>
    `a loop (${loop}) runs in the worktree ${name}. End it first: ralph-loop stop --loop ${name}, or cancel.`,
  wouldLose: (name: string, what: readonly string[]): string =>
    `removing the worktree ${name} would lose: ${what.join('; ')}. Commit and merge what is to stay. To lose it: ralph-loop worktree remove ${name} --force.`,
  removed: (name: string, branch: string, tip: string | null, kept: string | null): string =>
    [
      `the worktree ${name} is removed${tip === null ? '' : `, with its branch ${branch}`}.`,
      ...(tip === null ? [] : [`To have the branch back: git branch ${branch} ${tip}`]),
      ...(kept === null ? [] : [`The journals of its loop lie in ${kept}.`]),
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
