import type { CheckResult } from '../../engine/events.ts';
import type { ChecklistStand, ComparedChecklist } from '../../engine/identity/items.ts';
import { compareChecklist, isFinished } from '../../engine/identity/items.ts';
import { missingItemsText, openItemsText, unreadBoxesText } from '../../engine/identity/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { Seen } from '../../engine/schema/records.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { taskKind } from '../../task/task-file.ts';
import type { Message } from '../../text/message.ts';
import { readTask, type TaskText } from './read-task.ts';
import { readSeen } from './seen-record.ts';

type Loop = Pick<Contract, 'loopId' | 'taskPath' | 'evidence'>;

/** Compares a loop's checklist with the items it has had; null for another task. */
export function comparedChecklist(
  files: LoopFiles,
  loop: Loop,
  { body, bodyLine }: TaskText,
  seen?: Seen,
): ComparedChecklist | null {
  if (taskKind(loop.taskPath) !== 'checklist') return null;
  return compareChecklist(body, bodyLine, (seen ?? readSeen(files, loop)).items);
}

/** Returns what, besides open items, keeps a checklist from being complete, for the user and the next prompt. */
export function checklistWarnings(path: string, { missing, unread }: ChecklistStand): readonly (Message | string)[] {
  return [
    ...(missing.length > 0 ? [missingItemsText(path, missing)] : []),
    ...(unread.length > 0 ? [unreadBoxesText(path, unread)] : []),
  ];
}

/**
 * Checks that every item that a loop's checklist has had is checked; empty if so, and for another task. A missing, empty
 * or unreadable file has no items.
 */
export function checkChecklist(files: LoopFiles, loop: Loop): CheckResult[] {
  const task = readTask(files.projectDir, loop.taskPath) ?? { body: '', bodyLine: 1, frontmatter: '' };
  const compared = comparedChecklist(files, loop, task);
  if (!compared || isFinished(compared.stand)) return [];
  const { stand, items } = compared;
  const open = items.filter(({ checked }) => !checked).map(({ text }) => text);
  const reasons = [
    ...(open.length > 0 ? [openItemsText(stand, open)] : []),
    ...checklistWarnings(loop.taskPath, stand).map((warning) => (typeof warning === 'string' ? warning : warning.text)),
  ];
  const none = stand.total === 0 && reasons.length === 0 ? ['it has no items.'] : [];
  return [{ name: 'checklist', outcome: 'failed', detail: [...reasons, ...none].join('\n'), refutesOnly: true }];
}
