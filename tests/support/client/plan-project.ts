import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { bash, type Reply, type Script, text } from '../model/scripted-model.ts';
import { inLoopProject, type LoopProject, type LoopProjectOptions } from './loop-project.ts';

export const PLAN = 'PLAN.md';
export const PROGRESS = 'PLAN.progress.md';

export interface PlanProject {
  readonly project: LoopProject;
  readonly git: (...args: string[]) => string;
  /** Subjects of the commits since the project was set up, oldest first. */
  readonly commits: () => string[];
  /** `git status --porcelain`, without what the loop remembers of itself at its end. */
  readonly dirty: () => string[];
}

type Row = readonly [id: number, needs: string, mark: string];

const planOf = (title: string, rows: readonly Row[]): string => `---
validation:
  - name: made
    run: test -f made.txt
---

# ${title}

${rows
  .map(
    ([id, needs, mark]) =>
      `- [ ] ${mark}**Task ${id}: Make file ${id}**\n  - Scope: \`work/${id}\`, \`made.txt\`\n  - Depends on: ${needs}\n  - Acceptance:\n    - work/${id}/done.txt is there\n`,
  )
  .join('')}`;

/** Twelve tasks: one is blocked from the start and keeps one back, one is for a person, which keeps one back, too. */
export const TWELVE = planOf('Twelve', [
  [1, 'none', ''],
  [2, 'Task 1', ''],
  [3, 'Task 2', ''],
  [4, 'none', '(blocked) '],
  [5, 'Task 4', ''],
  [6, 'Task 1, Task 3', ''],
  [7, 'Task 8', ''],
  [8, 'none', ''],
  [9, 'Task 7', ''],
  [10, 'none', '(manual-verify) '],
  [11, 'Task 10', ''],
  [12, 'Task 9', ''],
]);

/** The same in small. */
export const SIX = planOf('Six', [
  [1, 'none', ''],
  [2, 'Task 3', ''],
  [3, 'none', ''],
  [4, 'none', '(blocked) '],
  [5, 'Task 4', ''],
  [10, 'none', '(manual-verify) '],
]);

const named = (...ids: readonly number[]): readonly string[] => ids.map((id) => `Task ${id}`);

/** The order in which those can be worked on. */
export const ORDER = named(1, 2, 3, 6, 8, 7, 9, 12);
export const ORDER_OF_SIX = named(1, 3, 2);

export const subject = (task: string): string => `feat: ${task} - Make file ${task.slice('Task '.length)}`;

/** Does what each hand-off names as the current task, and says so. */
export const workers = (work: (task: string) => Reply = honest): Script => ({
  main: ({ sinceText }) => {
    const task = /Current task: (Task \w+),/.exec(sinceText)?.[1];
    return task === undefined
      ? text('Summary: it is done.\nLearnings: files are made by touch.\nBlockers: none')
      : work(task);
  },
});

export const honest = (task: string): Reply => {
  const folder = `work/${task.slice('Task '.length)}`;
  return bash(`mkdir -p ${folder} && touch ${folder}/done.txt made.txt`);
};

/** A repository on a branch of its own, with a plan in it and everything committed. */
export const inPlanProject = async (
  plan: string,
  script: Script,
  body: (plan: PlanProject) => Promise<void>,
  { init = false, files = {}, standIn = false }: Pick<LoopProjectOptions, 'init' | 'files' | 'standIn'> = {},
): Promise<void> => {
  const all = { [PLAN]: plan, '.gitignore': '*.log\n', ...files };
  await inLoopProject({ git: true, init, standIn, files: all }, script, async (project) => {
    const { workspace } = project;
    const git = (...args: string[]): string =>
      execFileSync('git', args, {
        cwd: workspace.project,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: workspace.home },
      });
    git('switch', '-q', '-c', 'plan/twelve');
    git('add', '-A');
    git('commit', '-q', '-m', 'Begin');
    await body({
      project,
      git,
      commits: () => git('log', '--reverse', '--format=%s').trim().split('\n').slice(1),
      dirty: () =>
        git('status', '--porcelain', '-uall')
          .split('\n')
          .filter((line) => line !== '' && !line.includes('.claude/context/memory/')),
    });
  });
};

/** Every commit holds its own task's file, the tick and the progress entry, and nothing of another task. */
export const assertCommits = ({ git, commits }: PlanProject, tasks: readonly string[]): void => {
  assert.deepEqual(commits(), tasks.map(subject));
  for (const [index, task] of tasks.entries()) {
    const at = `HEAD~${tasks.length - 1 - index}`;
    const changed = git('show', '--name-only', '--format=', at).trim().split('\n').sort();
    const made = index === 0 ? ['made.txt'] : [];
    assert.deepEqual(changed, [PLAN, PROGRESS, ...made, `work/${task.slice('Task '.length)}/done.txt`].sort(), task);
    assert.match(git('show', `${at}:${PLAN}`), new RegExp(`^- \\[x\\] \\*\\*${task}:`, 'm'), task);
  }
};
