import type { Nodes } from 'mdast';
import type { PlanProblem } from '../../engine/plan/lint-plan.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import { LINE_END } from '../../text/characters.ts';
import { leafLines, readHead } from './task-lines.ts';

type Unread = Pick<PlanProblem, 'line' | 'rule' | 'message'>;

/** Pattern for marks of lists, headings, quotes and tables, including those of word processors. */
const MARK = /^[\s>|]*(?:(?:[-*+•◦▪‣·–—]|\d{1,9}[.)]|#{1,6})\s+)?/;
/** Pattern for misspelt boxes and those of other programs, but not for the text of a link. */
const BOX = /^\[\s*[^\s\]]?\s*\](?!\()\s*/;
const SYMBOL = /^[☐☑☒✓✔✅⬜]\s*/u;
const FENCE = /^(?:`{3,}|~{3,})/;
/** Maximum length of the patterns' input. */
const MOST_HEAD = 200;
const MOST_SHOWN = 60;
const MOST_DEPTH = 100;

/**
 * Finds text that looks like a task but is not one: without a valid box, in indented code, raw HTML or a quote, or after an
 * unclosed fence or comment. Ignores tasks of `known` (keys), closed fences and closed comments.
 */
export function unreadTasks(body: string, blocks: readonly Nodes[], known: ReadonlySet<string>): Unread[] {
  const missed = (node: Nodes, where: string): Unread[] =>
    linesOf(body, node)
      .filter(({ text }) => looksLikeTask(text, known, where === ''))
      .map(({ text, line }) => unread(text, line, where));
  const ofBlock = (node: Nodes): Unread[] => {
    switch (node.type) {
      case 'paragraph':
      case 'heading':
        return missed(node, '');
      case 'list':
        return node.children.flatMap((item) =>
          leafLines(body, item)
            .filter(({ text, first, depth }) => (depth === 0 || !first) && looksLikeTask(text, known, true))
            .map(({ text, line }) => unread(text, line, '')),
        );
      case 'blockquote':
        return missed(node, 'in a quote');
      case 'html':
        // A closed comment.
        return /^<!--[\s\S]*-->/.test(sourceOf(body, node)) ? [] : missed(node, 'in raw HTML');
      case 'code':
        return FENCE.test(sourceOf(body, node)) ? [] : missed(node, 'in code, by its indentation,');
      default:
        return [];
    }
  };
  return [...blocks.flatMap(ofBlock), ...openFences(body, blocks, 0)];
}

function unread(text: string, line: number, where: string): Unread {
  const place = where === '' ? '' : ` stands ${where} and`;
  const message = `"${text.trim().slice(0, MOST_SHOWN)}"${place} is not a task of the plan, so it will be skipped. Write a task as "- [ ] **Task 1: Title**", at the left margin.`;
  return { line, rule: 'unread-task', message };
}

function looksLikeTask(line: string, known: ReadonlySet<string>, maybeWithoutBox: boolean): boolean {
  const text = line.slice(0, MOST_HEAD).replace(MARK, '').trimEnd();
  const bare = text.replace(BOX, '').replace(SYMBOL, '');
  const id = readHead(`[ ] ${bare}`)?.id ?? null;
  if (id === null || known.has(planKey(id))) return false;
  return BOX.test(text) || (maybeWithoutBox && /^\W*task\s/i.test(bare) && /\d/.test(id));
}

function linesOf(body: string, node: Nodes): { readonly text: string; readonly line: number }[] {
  const begin = node.position?.start.line ?? 1;
  return sourceOf(body, node)
    .split(LINE_END)
    .map((text, index) => ({ text, line: begin + index }));
}

function sourceOf(body: string, { position }: Nodes): string {
  return body.slice(position?.start.offset, position?.end.offset);
}

function openFences(body: string, blocks: readonly Nodes[], depth: number): Unread[] {
  return blocks.flatMap((node): Unread[] => {
    if (node.type === 'list' || node.type === 'listItem')
      return depth < MOST_DEPTH ? openFences(body, node.children, depth + 1) : [];
    if (node.type !== 'code') return [];
    const [begin, ...rest] = linesOf(body, node);
    const [marks] = FENCE.exec(begin?.text ?? '') ?? [];
    const last = rest.at(-1);
    const end = last?.text.trim() ?? '';
    if (begin === undefined || marks === undefined) return [];
    if (end.startsWith(marks) && end.replaceAll(marks.charAt(0), '') === '') return [];
    const message = `this code fence is never closed, so the text below it, down to line ${last?.line ?? begin.line}, is ignored. Close it with ${marks}.`;
    return [{ line: begin.line, rule: 'open-fence', message }];
  });
}
