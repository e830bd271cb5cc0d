import type { ChecklistCount } from '../../core/checklist.ts';
import type { Runner } from './runner.ts';

/** Tells how far the checklist has come, where that is news. */
export function tellChecklist({ shown, options }: Runner, checklist: ChecklistCount | null | undefined): void {
  if (!checklist || checklist.total === 0) return;
  const { done, total } = checklist;
  const counted = `${done} ${total}`;
  if (counted === shown.checklist) return;
  shown.checklist = counted;
  options.tell({ type: 'checklist', done, total });
}
