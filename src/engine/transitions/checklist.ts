import type { ChecklistCount } from '../../text/markdown/checklist.ts';
import type { Message } from '../../text/message.ts';
import type { EventOf } from '../events.ts';
import { lostItemsText } from '../messages.ts';
import type { ChecklistState, CommonState } from '../schema/state.ts';

/** Returns the event with the completion claim that a finished checklist makes. */
export function withChecklist(
  { checklist }: Pick<CommonState, 'checklist'>,
  ended: EventOf<'iteration-ended'>,
): EventOf<'iteration-ended'> {
  return ended.checklist && isFinished(ended.checklist, checklist) ? { ...ended, taskDone: true } : ended;
}

/** Returns whether every item is checked and none was removed without the user's acceptance. */
export function isFinished({ done, total }: ChecklistCount, before: ChecklistState | undefined): boolean {
  return total > 0 && done === total && total >= (before?.most ?? 0);
}

export function counted(now: ChecklistCount, before: ChecklistState | undefined): ChecklistState {
  return { done: now.done, total: now.total, most: Math.max(now.total, before?.most ?? 0) };
}

/** Returns a warning about items removed from the checklist; null if none were, or the user knows of them. */
export function lostItems(now: ChecklistCount, before: ChecklistState | undefined, path: string): Message | null {
  const most = before?.most ?? 0;
  return now.total >= most || now.total === before?.total ? null : lostItemsText(path, most, now.total);
}
