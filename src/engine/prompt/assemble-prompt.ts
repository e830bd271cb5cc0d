import { shorten } from '../../text/quote.ts';
import type { Policy } from '../schema/contract.ts';
import type { Notices, Steering } from '../schema/state.ts';
import { completionText } from '../signals/signals.ts';

interface FindingsStand {
  /** Numbers of open findings, claimed by the agent and counted in the log. */
  readonly claimed: number | null;
  readonly open: number;
  /** Reasons, other than open findings, for which the log would refuse a claim. */
  readonly problems: readonly string[];
}

export interface PromptParts {
  readonly iteration: number;
  readonly maxIterations: number;
  readonly notices: Notices;
  readonly steering: readonly Pick<Steering, 'text'>[];
  /** Relative path of guardrails.md; null if the project has none. */
  readonly guardrailsPath: string | null;
  /** State of the findings log; null without one. */
  readonly findings: FindingsStand | null;
  readonly taskPath: string;
  /** Sections besides the task file: the project memory, the current scenario. */
  readonly beside?: readonly string[] | undefined;
  readonly body: string;
  readonly completion: Policy['completion'];
  readonly idle: boolean;
}

/** Prompt in parts: notices of this iteration, the task file's body, how to end the message. */
export interface AssembledPrompt {
  readonly preface: string;
  readonly body: string;
  readonly closing: string;
}

/** Maximum length of a notice: a rejection can quote a whole test run. */
const NOTICE_LIMIT = 3000;

export function assemblePrompt(parts: PromptParts): AssembledPrompt {
  const preface = [
    `[ralph] Iteration ${parts.iteration} of ${parts.maxIterations}. The task is in ${parts.taskPath}.`,
    ...noticeTexts(parts),
  ];
  if (parts.guardrailsPath !== null) preface.push(guardrailsText(parts.guardrailsPath));
  if (parts.findings !== null) preface.push(findingsText(parts.findings));
  preface.push(...(parts.beside ?? []));
  return { preface: preface.join('\n\n'), body: parts.body.trim(), closing: closingText(parts) };
}

export function noticeTexts({ notices, steering }: Pick<PromptParts, 'notices' | 'steering'>): string[] {
  const told: string[] = [];
  if (notices.rejection.length > 0) {
    told.push(
      section('Your claim of completion was rejected', [
        ...notices.rejection.map((reason) => shorten(reason, NOTICE_LIMIT)),
        'Fix this before you claim completion again.',
      ]),
    );
  }
  if (notices.misplacedSignal !== null) told.push(notices.misplacedSignal);
  if (notices.warnings.length > 0)
    told.push(
      section(
        'Notices',
        notices.warnings.map((text) => `- ${text}`),
      ),
    );
  if (steering.length > 0) {
    told.push(
      section(
        'The user says',
        steering.map(({ text }) => shorten(text, NOTICE_LIMIT)),
      ),
    );
  }
  return told;
}

export function guardrailsText(path: string): string {
  return `Read ${path} first: it contains the lessons of earlier iterations.`;
}

export function wholePrompt({ preface, body, closing }: AssembledPrompt): string {
  return `${preface}\n\n---\n\n${body}\n\n---\n\n${closing}\n`;
}

export function closingText({ completion, idle }: Pick<PromptParts, 'completion' | 'idle'>): string {
  const wanted = completionText(completion);
  const lines = ['How to end your message, each signal alone on a line, outside code and quotes:'];
  if (wanted !== null) lines.push(`- Everything is done and checked: ${wanted}`);
  lines.push('- Progress, and N findings are still open: RALPH_ITERATION_COMPLETE: N findings remain');
  if (idle) lines.push('- There is nothing to do right now: <!-- ralph:state idle -->');
  return lines.join('\n');
}

export function findingsText({ claimed, open, problems }: FindingsStand): string {
  const count = open === 1 ? '1 open finding' : `${open} open findings`;
  const said = claimed === null || claimed === open ? '' : `; you reported ${claimed}`;
  return [`The findings log has ${count}${said}.`, ...problems].join(' ');
}

export function section(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.join('\n')}`;
}
