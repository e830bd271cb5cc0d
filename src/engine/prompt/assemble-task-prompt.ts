import { shorten } from '../../text/quote.ts';
import { durationInWords } from '../../text/time.ts';
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
  /** Files that the gate requires and that do not exist yet, relative to the project. */
  readonly missing?: readonly string[];
  readonly elapsedMs: number;
}

const PROGRESS_LIMIT = 4096;
/** Room for the mark of a cut and its number. */
const MARK_ROOM = 64;
const FAILURES_LIMIT = 300;

/** Returns the prompt of a task folder's next iteration: notices, memory, task, how it ends. Every word is paid for each time. */
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
    ...reflectionText(iteration, terms.reflectEvery),
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
    ...reflectionText(iteration, terms.reflectEvery),
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
  // A cut can leave half of a character.
  const whole = kept.replace(/\p{Surrogate}/gu, '');
  return section(`Your memory: ${path}`, [whole, '', 'Update it before you end your message.']);
}

export function paceText(items: number | null): string[] {
  if (items === null) return [];
  const most = items === 1 ? 'one item' : `at most ${items} items`;
  return [section('Pace', [`Do ${most} in this iteration, then end your message.`])];
}

export function reflectionDue(iteration: number, every: number | null): boolean {
  return every !== null && iteration % every === 0;
}

function reflectionText(iteration: number, every: number | null): string[] {
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

/** Words about a completion claim: the agent acts `before` it, then `what` is checked. */
interface ClaimWords {
  readonly before: string;
  readonly what: string;
}

/** Lists the requirements of a completion claim; empty without any. */
export function gateText(
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
