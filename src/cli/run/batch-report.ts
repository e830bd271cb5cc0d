import type { BatchTask } from '../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../drive/parallel/messages.ts';
import type { PlanEnd } from '../../drive/parallel/plan-end.ts';
import type { BatchEnd } from '../../drive/parallel/run-batch.ts';
import { withPrefix } from '../../drive/turn/messages.ts';
import { counted } from '../../drive/worktree/messages.ts';
import { worktreePlaces } from '../../drive/worktree/worktree-place.ts';
import { dollarText } from '../../engine/messages.ts';
import { table } from '../../term/table.ts';
import { advise } from '../../text/message.ts';

/** Returns what `--json` prints of a task. */
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

/** Returns the report at the end of a run. */
export function reportLines(
  { tasks, refused, plan }: BatchEnd & { readonly plan?: PlanEnd },
  projectDir: string,
): string[] {
  const rows = tasks.map(({ name, planTask, end }) => {
    const cost = end === null || end.costUsd === null ? '' : dollarText(end.costUsd);
    const iterations = end === null || end.iterations === null ? '' : counted(end.iterations, 'iteration');
    const place = end === null || (plan !== undefined && end.integrated !== null) ? '' : `ralph/${name}`;
    return [planTask ?? name, end?.status ?? PARALLEL_TEXTS.notStarted, iterations, cost, place];
  });
  const known = tasks.map(({ end }) => end?.costUsd ?? 0).reduce((sum, cost) => sum + cost, 0);
  const failed = tasks
    .filter(({ end }) => end !== null && end.code !== 0 && (plan === undefined || end.status !== 'blocked'))
    .map(({ name, end }) => `${name}: ${end?.message}`);
  const there = worktreePlaces(projectDir).map(({ name }) => name);
  const isOwn = plan === undefined;
  const done = tasks.filter(
    ({ name, end }) => isOwn && end !== null && end.integrated === null && there.includes(name),
  );
  const open = tasks.some(({ step }) => step !== 'ended');
  return [
    table(rows),
    ...(known > 0 ? [withPrefix(`all loops together cost ${dollarText(known)}.`)] : []),
    ...(refused === null ? [] : [withPrefix(`the shared budget is used up: ${refused}.`)]),
    ...failed.map((line) => withPrefix(line)),
    ...(plan === undefined ? [] : [withPrefix(plan.message, { name: null, mode: 'runner' })]),
    ...(done.length === 0 ? [] : [withPrefix('each loop worked on its own branch. Look at one, merge it, clean up:')]),
    ...(done.length === 0
      ? []
      : ['  git log -p HEAD..ralph/NAME', '  git merge ralph/NAME', '  ralph-loop worktree remove NAME']),
    ...(isOwn && open ? [withPrefix(advise('not all tasks have ended.', 'Resume them', 'run --resume'))] : []),
  ];
}
