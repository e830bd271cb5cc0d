import { shorten } from '../../text/quote.ts';
import { durationInWords } from '../../text/time.ts';
import type { ComparedChecklist } from '../identity/items.ts';
import { unreadBoxesText } from '../identity/messages.ts';
import type { TaskTerms } from '../schema/contract.ts';
import { completionText } from '../signals/signals.ts';
import type { AssembledPrompt, PromptParts } from './assemble-prompt.ts';
import { assemblePrompt, closingText, findingsText, guardrailsText, noticeTexts, section } from './assemble-prompt.ts';

export interface TaskPromptParts extends PromptParts {
  /** Folder that outputs are relative to, with a final slash; default: that of the task file. */
  readonly folder?: string;
  /** Content of RALPH_PROGRESS.md; null if it does not exist. */
  readonly progress: string | null;
  readonly terms: Omit<TaskTerms, 'args'>;
  /** Further commands that must pass when completion is claimed. */
  readonly validation: readonly { readonly name: string }[];
  /** Names of the checks that rejected the last claim, as in the state (`gateFailures.value`), or null. */
  readonly lastFailures: string | null;
  /** Missing files that the gate requires, relative to the project. */
  readonly missing?: readonly string[];
  readonly elapsedMs: number;
}

const PROGRESS_LIMIT = 4096;
/** Room for the mark and the number of characters that replace a cut. */
const MARK_ROOM = 64;
const FAILURES_LIMIT = 300;

/** Returns the prompt of a task folder's next iteration: notices, memory, task, how to end. Every word costs each time. */
export function assembleTaskPrompt(parts: TaskPromptParts): AssembledPrompt {
  const { iteration, maxIterations, findings, guardrailsPath, terms } = parts;
  const folder = folderOf(parts.taskPath);
  const wanted = completionText(parts.completion);
  const preface = [
    `[ralph] Iteration ${iteration} of ${maxIterations}. The task folder is ${folder || './'}`,
    ...noticeTexts(parts),
    ...(findings === null ? [] : [findingsText(findings)]),
    ...(parts.beside ?? []),
    memoryText(`${folder}RALPH_PROGRESS.md`, parts.progress),
  ];
  const closing = [
    ...paceText(terms.itemsPerIteration),
    ...reflectionSection(iteration, terms.reflectEvery),
    goalText(parts.elapsedMs, wanted),
    ...(wanted === null ? [] : gateText(parts, { before: `you give ${wanted}`, what: `${wanted} is checked` })),
    ...(guardrailsPath === null ? [] : [guardrailsText(guardrailsPath)]),
    closingText(parts),
  ];
  return { preface: preface.join('\n\n'), body: parts.body.trim(), closing: closing.join('\n\n') };
}

/** Returns the plain prompt plus the terms of a gate, pace or commands. The session's context is its memory. */
export function assemblePromptWithTerms(parts: TaskPromptParts): AssembledPrompt {
  const { preface, body, closing } = assemblePrompt(parts);
  const { terms, iteration } = parts;
  const wanted = completionText(parts.completion);
  const asks = terms.requiredOutputs.length > 0 || terms.commands.some(({ acceptance }) => acceptance);
  const isGated = wanted !== null && (asks || terms.openQuestions !== 'optional');
  const sections = [
    ...paceText(terms.itemsPerIteration),
    ...reflectionSection(iteration, terms.reflectEvery),
    ...(isGated ? gateText(parts, { before: `you give ${wanted}`, what: `${wanted} is checked` }) : []),
    closing,
  ];
  return { preface, body, closing: sections.join('\n\n') };
}

/** Returns the folder with a final slash; empty for a task in the project's own folder. */
function folderOf(taskPath: string): string {
  return taskPath.slice(0, taskPath.lastIndexOf('/') + 1);
}

function memoryText(path: string, progress: string | null): string {
  const text = progress?.trim() ?? '';
  if (text === '') {
    return section('Your memory', [
      `${path} is empty. Note there what is done, what comes next and what you have learned: every prompt contains it.`,
    ]);
  }
  const kept = text.length <= PROGRESS_LIMIT ? text : shorten(text, PROGRESS_LIMIT - MARK_ROOM);
  // A cut can split a surrogate pair.
  const whole = kept.replace(/\p{Surrogate}/gu, '');
  return section(`Your memory: ${path}`, [whole, '', 'Update it before you end your message.']);
}

function paceText(items: number | null): string[] {
  if (items === null) return [];
  const most = items === 1 ? 'one item' : `at most ${items} items`;
  return [section('Pace', [`Do ${most} in this iteration, then end your message.`])];
}

export function reflectionDue(iteration: number, every: number | null): boolean {
  return every !== null && iteration % every === 0;
}

function reflectionSection(iteration: number, every: number | null): string[] {
  if (!reflectionDue(iteration, every)) return [];
  return [
    section('Reflect first', [
      'What has advanced the task so far, what has not, and what will you do differently? Note the answer in your memory, then continue.',
    ]),
  ];
}

function goalText(elapsedMs: number, wanted: string | null): string {
  return section('Goal', [
    `Time spent: ${durationInWords(elapsedMs)}. Audit the work before you end your message:`,
    '- Map the whole original task to concrete deliverables.',
    '- Inspect each of them as it is now: files, tests, status. Plans and earlier reports are not evidence.',
    '- Anything without evidence is not done.',
    wanted === null
      ? 'No promise is expected: keep making verified progress until the loop reaches its limits or is stopped.'
      : `Give ${wanted} only when the evidence covers every requirement. Until then do what is missing.`,
  ]);
}

/** Words about a completion claim: what the agent does `before` it, and `what` is checked then. */
interface ClaimWords {
  readonly before: string;
  readonly what: string;
}

/** Lists the requirements of a completion claim; empty without any. */
function gateText(
  parts: Pick<TaskPromptParts, 'terms' | 'validation' | 'lastFailures' | 'missing' | 'notices' | 'taskPath' | 'folder'>,
  { before, what }: ClaimWords,
): string[] {
  const { gate } = parts.terms;
  const folder = parts.folder ?? folderOf(parts.taskPath);
  const unchecked = gate === 'optional' ? gateItems(parts.terms, folder, []) : [];
  const checked = gate === 'required' ? gateItems(parts.terms, folder, parts.validation) : passing(parts.validation);
  if (unchecked.length + checked.length === 0) return [];
  const lines: string[] = [];
  if (unchecked.length > 0)
    lines.push(`This is not checked automatically. Before ${before}, make sure that:`, ...unchecked);
  if (checked.length > 0) lines.push(`${what}, and rejected unless:`, ...checked);
  if (parts.missing?.length) lines.push(`Still missing: ${parts.missing.join(', ')}`);
  // The reasons for a just rejected claim are above.
  if (parts.lastFailures !== null && parts.notices.rejection.length === 0) {
    const failed = parts.lastFailures.replaceAll(/:([\w-]+)(,|$)/g, ': $1$2 ').trim();
    lines.push(`Your last claim failed at: ${shorten(failed, FAILURES_LIMIT)}`);
  }
  return [section(`Completion gate: ${gate}`, lines)];
}

function gateItems(
  { requiredOutputs, commands, openQuestions }: TaskPromptParts['terms'],
  folder: string,
  validation: TaskPromptParts['validation'],
): string[] {
  const outputs = requiredOutputs.map((path) => folder + path).join(', ');
  return [
    ...(outputs === '' ? [] : [`- these files exist: ${outputs}`]),
    ...(openQuestions === 'optional'
      ? []
      : [`- ${folder}OPEN_QUESTIONS.md exists and has no open item under P0 or P1`]),
    ...passing([...commands.filter(({ acceptance }) => acceptance), ...validation]),
  ];
}

function passing(commands: readonly { readonly name: string }[]): string[] {
  return commands.length === 0 ? [] : [`- these commands pass: ${commands.map(({ name }) => name).join(', ')}`];
}

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
    notesText(taskPath),
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

function notesText(taskPath: string): string {
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
