import type { PlanProblem } from '../../engine/plan/lint-plan.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { Line } from '../../text/markdown/lines.ts';
import { readHead } from './task-lines.ts';

/** Pattern for marks of lists, headings, quotes and tables, including those of word processors. */
const MARK = /^[\s>|]*(?:(?:[-*+•◦▪‣·–—]|\d{1,9}[.)]|#{1,6})\s+)?/;
/** Pattern for misspelt boxes and those of other programs, but not for the text of a link. */
const BOX = /^\[\s*[^\s\]]?\s*\](?!\()\s*/;
const SYMBOL = /^[☐☑☒✓✔✅⬜]\s*/u;
/** Maximum length of the patterns' input. */
const MOST_HEAD = 200;
const MOST_SHOWN = 60;

/**
 * Finds text that looks like a task but is not one: without a valid box, in indented code, raw HTML or a quote, or after an
 * unclosed fence or comment. Ignores tasks of `known` (keys), closed fences and closed comments.
 */
export function unreadTasks(all: readonly Line[], known: ReadonlySet<string>): PlanProblem[] {
  const found = all.flatMap((line): PlanProblem[] => {
    const where = placeOf(line);
    if (where === null || !looksLikeTask(line.content, known, where === '')) return [];
    return [unread(line.content, line.number, where)];
  });
  return [...found, ...openFences(all)];
}

/** Returns where a line stands that may be taken for a task; null if it is an example or belongs to an item. */
function placeOf({ inFence, inQuote, inHtml, indentedCode, listDepth, itemsBegun }: Line): string | null {
  if (inFence) return null;
  if (inHtml) return 'in raw HTML';
  if (inQuote || indentedCode) return listDepth > 0 ? null : inQuote ? 'in a quote' : 'in code, by its indentation,';
  return listDepth > 1 && itemsBegun > 0 ? null : '';
}

function unread(text: string, line: number, where: string): PlanProblem {
  const place = where === '' ? '' : ` stands ${where} and`;
  const message = `"${text.trim().slice(0, MOST_SHOWN)}"${place} is not a task of the plan, so it will be skipped. Write a task as "- [ ] **Task 1: Title**", at the left margin.`;
  return { line, taskId: null, rule: 'unread-task', message, severity: 'warning' };
}

function looksLikeTask(line: string, known: ReadonlySet<string>, maybeWithoutBox: boolean): boolean {
  const text = line.slice(0, MOST_HEAD).replace(MARK, '').trimEnd();
  const bare = text.replace(BOX, '').replace(SYMBOL, '');
  const id = readHead(`[ ] ${bare}`)?.id ?? null;
  if (id === null || known.has(planKey(id))) return false;
  return BOX.test(text) || (maybeWithoutBox && /^\W*task\s/i.test(bare) && /\d/.test(id));
}

function openFences(all: readonly Line[]): PlanProblem[] {
  const found: PlanProblem[] = [];
  let begin: Line | null = null;
  let last = 0;
  const end = (): void => {
    const [marks] = /^(?:`+|~+)/.exec(begin?.content ?? '') ?? [];
    if (begin === null || marks === undefined) return;
    const message = `this code fence is never closed, so the text below it, down to line ${last}, is ignored. Close it with ${marks}.`;
    found.push({ line: begin.number, taskId: null, rule: 'open-fence', message, severity: 'warning' });
  };
  for (const line of all) {
    if (line.fence !== 'inside') {
      if (line.fence !== 'closes') end();
      begin = line.fence === 'opens' ? line : null;
    }
    last = line.number;
  }
  end();
  return found;
}
