import type { PlanFileTask } from './read-plan.ts';

/** The plan's text with the box of a task ticked: one character differs. */
export function tickTask(text: string, { boxAt }: Pick<PlanFileTask, 'boxAt'>): string {
  return `${text.slice(0, boxAt)}x${text.slice(boxAt + 1)}`;
}

/** The plan's text with `(blocked)` behind the box of a task; the same text where it stands there already. */
export function blockTask(text: string, { boxAt, status }: Pick<PlanFileTask, 'boxAt' | 'status'>): string {
  if (status === 'blocked') return text;
  const behind = boxAt + 2;
  return `${text.slice(0, behind)} (blocked)${text.slice(behind)}`;
}

/** The plan's text with the box of a task open again: one character differs. */
export function untickTask(text: string, { boxAt }: Pick<PlanFileTask, 'boxAt'>): string {
  return `${text.slice(0, boxAt)} ${text.slice(boxAt + 1)}`;
}
