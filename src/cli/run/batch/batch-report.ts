import type { BatchTask } from '../../../drive/parallel/batch.ts';
import { withPrefix } from '../../../drive/turn/messages.ts';
import type { Run } from '../../../engine/schema/run.ts';
import { taskTable } from '../../show/run-text.ts';

/** Returns a task as `--json` prints it. */
export function published({ name, taskPath, planTask, step, end }: BatchTask): object {
  return {
    loop: name,
    taskPath,
    ...(planTask !== undefined && { task: planTask }),
    step,
    branch: `ralph/${name}`,
    ...end,
  };
}

const OWN_BRANCHES = [
  withPrefix('each loop worked on its own branch. Look at one, merge it, clean up:'),
  ...['  git log -p HEAD..ralph/NAME', '  git merge ralph/NAME', '  ralph-loop worktree remove NAME'],
];

/** Returns the report at the end of a run; its table has at most `columns` columns if possible. */
export function reportLines(run: Run, columns: number): string[] {
  const { plan, live, status, why, next, tasks } = run;
  const isOwn = plan === null && tasks.some(({ status, commit, branch }) => status === 'complete' && !commit && branch);
  const isOver = plan === null && (status === 'complete' || status === 'incomplete');
  const text = [why, next].filter((part) => part !== '').join(' ');
  return [
    ...taskTable(run, columns),
    ...(live || isOver || text === '' ? [] : [withPrefix(text)]),
    ...(isOwn ? OWN_BRANCHES : []),
  ];
}
