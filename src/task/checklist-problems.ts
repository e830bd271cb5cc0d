import { checklistItems, countChecklist } from '../core/checklist.ts';
import { plainLines } from '../core/plain-lines.ts';
import type { Problem } from './problem.ts';
import type { SplitText } from './split-frontmatter.ts';

/** A heading, an item without a text, a rule: what a template has before anybody has written in it. */
const BARE = /^\s*(?:#{1,6}(?:\s.*)?|(?:[-*+]|\d{1,9}[.)])?\s*(?:\[[ xX]?\])?\s*|-{3,}|={3,})$/;

/** What a checklist can have wrong beside its settings: nobody has written in it, or there is nothing left to do. */
export function checklistProblems({ body, bodyLine }: Pick<SplitText, 'body' | 'bodyLine'>): Problem[] {
  const at = { path: '', line: bodyLine, column: 1, value: null };
  if (isUnfilled(body)) {
    const message =
      'it is not filled in yet: write under Goals what is to be achieved, and under Checklist the steps ("- [ ] what") where you know them.';
    return [{ ...at, rule: 'unfilled', message, severity: 'error' }];
  }
  const { done, total } = countChecklist(checklistItems(body));
  if (total === 0 || done < total) return [];
  const all = total === 1 ? 'its only item is' : `all of its ${total} items are`;
  const message = `there is nothing to do: ${all} checked already.`;
  return [{ ...at, rule: 'all-checked', message, severity: 'warning' }];
}

/** Whether a task file says nothing: it holds headings, comments and empty items alone. */
export function isUnfilled(body: string): boolean {
  for (const { text } of plainLines(body)) if (!BARE.test(text)) return false;
  // A fence alone is a text too.
  return !/^ {0,3}(?:```|~~~)/m.test(body);
}
