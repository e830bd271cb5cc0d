import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import type { EngineEvent } from '../events.ts';
import type { ChecklistState, CommonState } from '../schema/state.ts';

type Ended = Extract<EngineEvent, { type: 'iteration-ended' }>;

/** The event with the claim that a finished checklist makes. */
export function withChecklist({ checklist }: Pick<CommonState, 'checklist'>, ended: Ended): Ended {
  return ended.checklist && isFinished(ended.checklist, checklist) ? { ...ended, taskDone: true } : ended;
}

/**
 * Every item is checked, and none is gone: a list that had more items before was cut, and proves nothing until these are
 * back or the user accepts it as it is.
 */
export function isFinished({ done, total }: ChecklistCount, before: ChecklistState | undefined): boolean {
  return total > 0 && done === total && total >= (before?.most ?? 0);
}

/** What the state keeps of a checklist that was counted anew. */
export function counted(now: ChecklistCount, before: ChecklistState | undefined): ChecklistState {
  return { done: now.done, total: now.total, most: Math.max(now.total, before?.most ?? 0) };
}

/** What the user has to hear of a checklist that lost items; null where it lost none, or no more than it was known to. */
export function lostItems(now: ChecklistCount, before: ChecklistState | undefined, path: string): string | null {
  const most = before?.most ?? 0;
  if (now.total >= most || now.total === before?.total) return null;
  const lost = most - now.total;
  return `${lost === 1 ? '1 item was' : `${lost} items were`} taken out of ${path}: it had ${most} and has ${now.total}. The loop cannot complete by its list until ${lost === 1 ? 'it is' : 'they are'} back (an item that is not needed is checked, with the reason behind it), or the user accepts the list as it is: main.cjs accept.`;
}
