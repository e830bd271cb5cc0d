import { shorten } from '../../text/quote.ts';
import { durationInWords } from '../../text/time.ts';
import type { ComparedChecklist } from '../identity/items.ts';
import { unreadBoxesText } from '../identity/messages.ts';
import { completionText } from '../signals/signals.ts';
import type { AssembledPrompt, PromptParts } from './assemble-prompt.ts';
import { findingsText, guardrailsText, noticeTexts, section } from './assemble-prompt.ts';
import { gateText, paceText, type TaskPromptParts } from './assemble-task-prompt.ts';

export interface ChecklistPromptParts
  extends PromptParts,
    Pick<TaskPromptParts, 'terms' | 'validation' | 'lastFailures' | 'missing' | 'elapsedMs'> {
  readonly checklist: Pick<ComparedChecklist, 'items' | 'stand'>;
  readonly reflection: string | null;
}

const NAMED = 3;
const ITEM_LIMIT = 300;
const REFLECTION_LIMIT = 4_000;

/** Returns the prompt of a checklist's next iteration. The task file is the agent's only memory. Pure. */
export function assembleChecklistPrompt(parts: ChecklistPromptParts): AssembledPrompt {
  const { iteration, maxIterations, taskPath, reflection, findings, guardrailsPath } = parts;
  const preface = [
    `[ralph] Iteration ${iteration} of ${maxIterations}. The task file is ${taskPath}`,
    ...(reflection === null ? [] : [section('Reflect first', [shorten(reflection.trim(), REFLECTION_LIMIT)])]),
    ...noticeTexts(parts),
    ...(findings === null ? [] : [findingsText(findings)]),
    ...(parts.beside ?? []),
    standText(parts),
  ];
  const closing = [
    ...paceText(parts.terms.itemsPerIteration),
    memoryText(taskPath),
    auditText(parts.elapsedMs),
    ...gateText(parts, { before: 'you check the last item', what: 'A finished checklist is verified' }),
    ...(guardrailsPath === null ? [] : [guardrailsText(guardrailsPath)]),
    endText(parts),
  ];
  return { preface: preface.join('\n\n'), body: parts.body.trim(), closing: closing.join('\n\n') };
}

export function reflectionText(taskPath: string): string {
  return [
    `First read ${taskPath} from the beginning, and compare it with the project as it is now.`,
    '- Is what is checked really done? Uncheck what is not.',
    '- Do the open items still lead to the goals? Add what is missing, and put them into a better order.',
    '- What slows the work down? Write it under Notes, with what you will do differently.',
  ].join('\n');
}

function standText({ checklist: { items, stand }, taskPath }: ChecklistPromptParts): string {
  const { done, total, missing, unread } = stand;
  const held = [
    ...(missing.length > 0 ? ['', ...lostText(missing)] : []),
    ...(unread.length > 0 ? ['', unreadBoxesText(taskPath, unread)] : []),
  ];
  if (total === 0) {
    const first = `${taskPath} has no checklist yet. Make one first: break the goals down into items ("- [ ] what") that can each be done and checked in one iteration.`;
    return section('Checklist', held.length > 0 ? held.slice(1) : [first]);
  }
  const open = items.filter(({ checked }) => !checked);
  if (open.length === 0) {
    const all = total === 1 ? 'The only item is' : `All ${total} items are`;
    return section(`Checklist: ${done} of ${total}`, [
      `${all} checked. Do what is still missing; uncheck what is not done, or add it as an item.`,
      ...held,
    ]);
  }
  const next = open.slice(0, NAMED).map(({ line, text }) => `- ${shorten(text, ITEM_LIMIT)} (line ${line})`);
  const more = open.length - next.length;
  const rest = more === 0 ? [] : [more === 1 ? '1 more is open.' : `${more} more are open.`];
  return section(`Checklist: ${done} of ${total}`, ['Next:', ...next, ...rest, ...held]);
}

const MOST_LOST = 20;

function lostText(missing: readonly string[]): string[] {
  const [are, them] =
    missing.length === 1 ? ['1 item of the list is', 'it'] : [`${missing.length} items of the list are`, 'them'];
  const more = missing.length - MOST_LOST;
  return [
    `${are} missing. Put ${them} back, in the same words: until then the list is unfinished even if every item is checked.`,
    ...missing.slice(0, MOST_LOST).map((text) => `- ${shorten(text, ITEM_LIMIT)}`),
    ...(more > 0 ? [`${more} more are missing.`] : []),
  ];
}

function memoryText(taskPath: string): string {
  return section('Your memory', [
    `You know earlier iterations only from ${taskPath}, and so will the next one. Update it before you end your message:`,
    '- Check an item ("- [x]") only when it is done and you have seen that it works. Any other mark is open.',
    '- Add items that turn out to be needed. Delete none, and keep their words: check an unneeded one, with the reason behind it.',
    '- Write under Notes what the next iteration must know.',
  ]);
}

function auditText(elapsedMs: number): string {
  return section('Evidence', [
    `Time spent: ${durationInWords(elapsedMs)}. Inspect each result as it is now: files, tests, status. Plans and earlier reports are not evidence.`,
  ]);
}

function endText({ completion, idle, taskPath }: ChecklistPromptParts): string {
  const wanted = completionText(completion);
  const said = [
    ...(wanted === null ? [] : [`- Everything is done and checked: ${wanted}`]),
    ...(idle ? ['- There is nothing to do right now: <!-- ralph:state idle -->'] : []),
  ];
  const how = `The loop is complete when every item in ${taskPath} is checked.`;
  if (said.length === 0) return how;
  return [`${how} You can also write, alone on a line of your final message, outside code and quotes:`, ...said].join(
    '\n',
  );
}
